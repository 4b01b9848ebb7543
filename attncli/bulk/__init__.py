"""Bulk work: large inputs in shards, by processes of this machine or by a cluster."""
