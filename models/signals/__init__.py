"""Images and sound: opening of files, features, speech detection, labels of an image network."""
