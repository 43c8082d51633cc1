"""What a configuration carries: learned batches, the model fitted to them, and the load on it."""
