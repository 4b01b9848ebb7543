"""`attn models` and `attn runs`: facts about models and runs; packing, adding, removing."""
