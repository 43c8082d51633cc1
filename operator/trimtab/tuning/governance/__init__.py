"""Policies above a pipeline: which apply, what they say together, what they leave open. Pure."""
