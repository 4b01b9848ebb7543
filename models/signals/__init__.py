"""Images: opening, decoding, formats."""
