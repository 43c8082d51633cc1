"""What a person is told: conditions and status."""
