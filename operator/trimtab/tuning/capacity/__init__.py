"""The capacity of a configuration: learned batches, the model fitted to them, and the load."""
