"""TODO: the room."""
