"""The training loop: a generator of events."""
