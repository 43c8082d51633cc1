"""The writes of one tick."""
