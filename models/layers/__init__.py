"""Layers shared by encoders and decoders: embeddings, positions, feed-forward blocks, cells."""
