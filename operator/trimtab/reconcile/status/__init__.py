"""What users see: conditions and status."""
