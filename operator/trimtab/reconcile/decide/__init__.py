"""From an Observation to an Outcome: decides what to write, without I/O."""
