"""What trimtab says to a person and does not do by itself, or only at a restart."""
