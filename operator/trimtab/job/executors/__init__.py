"""The executor pods: how many there are, where they run, and how tasks are placed on them."""
