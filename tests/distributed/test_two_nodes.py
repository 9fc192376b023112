"""A cluster of two nodes on this machine: actors on both, and a node that is lost."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("ray.cluster_utils")

PROGRAM = """
import numpy as np
import ray
from ray.cluster_utils import Cluster

import gymcore as gym
from gymcore.distributed import Collector
from tests.distributed.policies import cartpole, linear

WEIGHTS = np.ones(4, np.float32)
node = {"num_cpus": 1, "object_store_memory": 100 << 20, "include_dashboard": False}
cluster = Cluster(initialize_head=True, head_node_args=node)
second = cluster.add_node(num_cpus=1, object_store_memory=100 << 20)
cluster.wait_for_nodes()
ray.init(cluster.address, log_to_driver=False, logging_level="error")

with Collector(cartpole, linear, 2, seed=1) as collector:
    first = collector.collect(WEIGHTS, 20)
    nodes = {ray.get(one.__ray_call__.remote(lambda _: ray.get_runtime_context().get_node_id()))
             for one in collector._actors}
    assert len(nodes) == 2, nodes
    cluster.add_node(num_cpus=1, object_store_memory=100 << 20)
    cluster.remove_node(second, allow_graceful=False)
    fragments = collector.collect(WEIGHTS, 20)
    assert [one.actor for one in fragments] == [0, 1], fragments
    assert collector.lost == 1 and sum(collector.restarts) == 1, collector.restarts

with gym.make_vec("CartPole-v1", 4, "ray", {"num_actors": 2}) as envs:
    with gym.make_vec("CartPole-v1", 4) as local:
        assert np.array_equal(envs.reset(seed=1)[0], local.reset(seed=1)[0])
        for _ in range(20):
            assert np.array_equal(envs.step([1, 0, 1, 0])[0], local.step([1, 0, 1, 0])[0])
ray.shutdown()
cluster.shutdown()
print("done")
"""


@pytest.mark.soak
def test_a_node_that_is_lost():
    variables = {
        "PYTHONPATH": str(Path(__file__).parents[2]),
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_raylet_start_wait_time_s": "200",  # for a busy machine
    }
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert result.stdout.endswith("done\n"), result.stderr[-4000:]
