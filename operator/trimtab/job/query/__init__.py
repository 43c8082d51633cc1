"""The query: its sources and sinks, how it is built, and its checkpoint."""
