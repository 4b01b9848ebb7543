"""`attn models compare`: variants of a model, trained with one budget, and their scores."""
