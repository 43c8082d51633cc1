"""Stages of calls in flight: `pending_map`, and its part that runs in Python workers."""
