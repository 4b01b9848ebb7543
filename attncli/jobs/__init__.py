"""Work of the commands: one plain typed function each, callable from Python."""
