"""The plant of the scenario files, and the same tuning core in a closed loop over it."""
