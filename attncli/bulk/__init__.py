"""Bulk work: large inputs in shards, by processes of this machine or by a cluster.

`BatchMapper` and `frame_mapper` are for pipelines of Ray Data, Spark and pandas.
"""

from attncli.bulk.pipelines import BatchMapper, frame_mapper

__all__ = ["BatchMapper", "frame_mapper"]
