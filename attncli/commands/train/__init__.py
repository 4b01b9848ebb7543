"""``attn train``."""
