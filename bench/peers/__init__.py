"""The peers as fair opponents: one module each, with its law and its published defaults."""
