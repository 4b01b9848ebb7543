"""The service over HTTP: the app, its guard and the server."""
