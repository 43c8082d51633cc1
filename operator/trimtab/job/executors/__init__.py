"""The executor pods: how many, where, and which tasks they prefer."""
