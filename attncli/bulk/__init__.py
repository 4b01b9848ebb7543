"""Bulk work: large inputs in shards, by processes of this machine or by a Ray cluster.

`BatchMapper` is for pipelines of Ray Data and pandas.
"""

from attncli.bulk.pipelines import BatchMapper

__all__ = ["BatchMapper"]
