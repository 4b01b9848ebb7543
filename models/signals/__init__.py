"""Images: opening of files, labels of an image network."""
