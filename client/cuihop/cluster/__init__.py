"""Blocks of queries computed by the processes of a Dask cluster."""

from cuihop.cluster.open_cluster import open_cluster

__all__ = ["open_cluster"]
