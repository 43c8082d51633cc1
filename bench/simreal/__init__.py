"""The simulator against the real driver: measure settings, fit some of them, predict the rest."""
