"""Ray on this machine, for the tests of a process."""

from __future__ import annotations

import atexit
import os
import warnings

import pytest

CPUS = 16  # what Ray believes: actors of several tests may be there at a time


def start():
    """Start Ray, unless that has been done; it ends with the process."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ray = pytest.importorskip("ray")
        if not ray.is_initialized():
            os.environ |= {
                "RAY_USAGE_STATS_ENABLED": "0",
                "RAY_IGNORE_UNHANDLED_ERRORS": "1",
                "RAY_raylet_start_wait_time_s": "200",  # a busy machine
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
