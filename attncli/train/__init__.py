"""`attn train`: the command, a run and its files, the loop."""
