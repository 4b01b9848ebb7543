"""What the commands do, as plain typed functions."""
