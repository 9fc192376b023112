"""Ray on this machine, for the tests in one process."""

from __future__ import annotations

import atexit
import os
import warnings

import pytest

CPUS = 16  # the number Ray is told: actors of several tests may exist at the same time


def start():
    """Start Ray, unless it is running; it ends with the process."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ray = pytest.importorskip("ray")
        if not ray.is_initialized():
            os.environ |= {
                "RAY_USAGE_STATS_ENABLED": "0",
                "RAY_IGNORE_UNHANDLED_ERRORS": "1",
                "RAY_raylet_start_wait_time_s": "200",  # for a busy machine
            }
            ray.init(
                "local",
                num_cpus=CPUS,
                include_dashboard=False,
                object_store_memory=200 << 20,
                log_to_driver=False,
                logging_level="error",
            )
            atexit.register(ray.shutdown)
    return ray
