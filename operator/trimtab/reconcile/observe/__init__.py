"""What one tick reads: cached objects, metrics, and one frozen Observation per pipeline."""
