"""The fixture `ray`."""

from __future__ import annotations

import pytest

from tests.distributed import local_ray


@pytest.fixture(scope="session")
def ray():
    """Return Ray, started on this machine."""
    return local_ray.start()
