"""Images as data: files named on a command line, captions, cached features."""
