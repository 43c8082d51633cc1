"""What trimtab advises users but does not apply by itself, or only at a restart."""
