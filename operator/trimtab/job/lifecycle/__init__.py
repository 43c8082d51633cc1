"""When the query starts, stops and restarts, and who carries that out."""
