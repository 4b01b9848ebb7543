"""``attn models compare``."""
