"""Tomorrow's load: what a pipeline's input will be in a few minutes, from its past.

A forecast only makes a raise come early, or a release wait. It is never believed against what is
seen: see `season.py`.
"""
