"""Programs that are written beside the graphs of a model. They import nothing of attn."""
