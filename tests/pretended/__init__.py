"""A device that is none, and what runs on it."""

KINDS = ("text", "rows", "image", "labelled_text", "audio")  # of input; `config_of` has their data
