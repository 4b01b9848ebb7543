"""A device that is none, and what runs on it."""
