"""A load generator that counts exactly: what was produced, and what came out at the other end."""
