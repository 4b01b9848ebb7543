"""Settings of models, tokenizers, search and alignment. Imports no torch."""
