"""Handlers of requests: one file per kind of request."""
