"""From an Observation to an Outcome: what is to be written, decided without any I/O."""
