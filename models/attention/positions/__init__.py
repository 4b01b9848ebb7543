"""Positions of tokens: added to embeddings, or a part of every self-attention."""
