"""Trials: how a change is watched, judged, and remembered where it did not help."""
