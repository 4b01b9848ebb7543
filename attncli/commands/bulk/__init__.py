"""``attn bulk``."""
