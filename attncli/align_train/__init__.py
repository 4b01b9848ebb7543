"""`attn align train`: the training of a word aligner."""
