"""The peers as honest opponents: one module each, its law and its published defaults."""
