"""The server, its application, and the handlers: one file for each kind of request."""
