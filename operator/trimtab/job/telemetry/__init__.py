"""What the driver sees and exports."""
