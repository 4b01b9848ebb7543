"""Reading and batching."""
