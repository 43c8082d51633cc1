"""Trials: watch a change, judge it, and remember it if it did not help."""
