"""The simulated plant of the scenario files, in a closed loop with the real tuning core."""
