"""What a bulk job does: its description, and its shards."""
