"""The cluster of Flink that tests of several files run on, started for the first of them."""

from collections.abc import Iterator

import flink_cluster
import pytest


@pytest.fixture(scope="session")
def flink(tmp_path_factory: pytest.TempPathFactory) -> Iterator[flink_cluster.Cluster]:
    """Skipped only where its jars are not: a cluster that does not start fails the test."""
    if not flink_cluster.JARS.is_dir():
        pytest.skip(f"make flink has not put jars into {flink_cluster.JARS}")
    cluster = flink_cluster.Cluster(tmp_path_factory.mktemp("flink"))
    cluster.start()
    try:
        yield cluster
    finally:
        cluster.stop()
