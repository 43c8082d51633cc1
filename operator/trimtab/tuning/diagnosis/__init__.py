"""Find the bottleneck of a pipeline, and the state of its executors and stages."""
