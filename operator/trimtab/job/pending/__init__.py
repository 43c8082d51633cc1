"""Stages of pending calls: `pending_map`, and its part that runs in Python workers."""
