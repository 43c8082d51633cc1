"""What holds a pipeline back, and how its executors and stages fare."""
