"""``attn models`` and its sub-commands."""
