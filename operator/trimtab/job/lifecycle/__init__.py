"""The life of the query: decides when it starts, restarts and stops, and carries that out."""
