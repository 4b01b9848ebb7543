"""``attn evaluate``."""
