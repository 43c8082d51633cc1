"""The three regimes of batch size, on a real driver controlled by the real law."""
