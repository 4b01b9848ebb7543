"""The terminal: the only writer to stderr, widths, escapes, durations."""
