"""A load generator with exact counts of what was produced and what came out at the other end."""
