"""The tuner with a Delta table and a table of PostgreSQL as the sink."""
