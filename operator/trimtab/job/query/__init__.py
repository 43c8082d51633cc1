"""The query itself: how it is built, written and checked against its checkpoint."""
