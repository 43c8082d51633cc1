"""The three regimes of a batch's size, on a real driver that the real law drives."""
