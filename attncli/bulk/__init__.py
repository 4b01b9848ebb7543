"""Bulk jobs: a task over large inputs, in shards, by workers on one or several machines."""
