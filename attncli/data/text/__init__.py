"""Text as data: parallel corpora, tokens, mixtures of directions."""
