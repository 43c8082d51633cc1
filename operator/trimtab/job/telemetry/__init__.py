"""What the driver measures and exports."""
