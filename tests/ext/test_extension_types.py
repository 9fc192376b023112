"""Objects of extension types that were made in unusual ways do not crash the process."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import gymcore as gym

PROGRAM = """
import copy, importlib, pkgutil, sys
import numpy as np
import gymcore_ext

for module in pkgutil.walk_packages(gymcore_ext.__path__, "gymcore_ext."):
    importlib.import_module(module.name)


def extension_types(base=object):
    for cls in type.__subclasses__(base):
        if str(cls.__module__).startswith("gymcore_ext.") and not cls.__name__.startswith("__pyx"):
            yield cls
        yield from extension_types(cls)


HARMLESS = {"__class__", "__init_subclass__", "__subclasshook__", "__new__", "__getattribute__"}
GIVEN = (), (None,), (0,), ([],), (b"",), (np.zeros(0, np.int64), np.zeros(0)), (None,) * 3
types = sorted(set(extension_types()), key=str)
made = []
for cls in types:
    print(cls, flush=True)  # the last line names the one that crashed
    for make in (cls, lambda: cls.__new__(cls), lambda: cls(None), lambda: cls(*(None,) * 6)):
        try:
            item = make()
        except Exception:
            continue
        made.append(cls.__name__)
        for call in (copy.copy, len, repr):
            try:
                call(item)
            except Exception:
                pass
        for name in sorted(set(dir(item)) - HARMLESS):
            for arguments in GIVEN:
                try:
                    getattr(item, name)(*arguments)
                except Exception:
                    pass
print(len(types), "types;", *sorted(set(made)))
"""


def test_objects_without_their_parts_raise() -> None:
    """Each type refuses to make one, or every method and property raises a Python exception."""
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM], capture_output=True, text=True, timeout=300
    )
    assert result.returncode == 0, f"{result.stdout.splitlines()[-1:]} {result.stderr[-2000:]}"
    last = result.stdout.splitlines()[-1].split()
    assert int(last[0]) > 25
    assert {"BoundStep", "Batch", "StructLanes", "LaneLoops", "Channel"}.isdisjoint(last)


def test_a_bound_step_is_checked_however_it_is_made() -> None:
    envs = gym.make_vec("CartPole-v1", num_envs=2)
    observations, _ = envs.reset(seed=1)
    arrays = observations, np.zeros(2), np.zeros(2, bool), np.zeros(2, bool)
    bound = type(envs._batch.bind_step(np.zeros(2, np.int64), *arrays))
    with pytest.raises(TypeError):
        bound(None, np.zeros(2, np.int64), *arrays, None, None)
    with pytest.raises(gym.error.InvalidArgument, match="truncated: expected memory"):
        bound(envs._batch, np.zeros(2, np.int64), *arrays[:3], arrays[2], None, None)
    assert bound(envs._batch, np.zeros(2, np.int64), *arrays, None, None)() == {}
    envs.close()
