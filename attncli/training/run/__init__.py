"""A run from its settings to its bundle."""
