"""The description of a bulk job, and the shards of its input."""
