"""Ids that a program has registered, for workers that start without them."""

from __future__ import annotations

import pickle
from typing import Any

from gymcore.specs import registry

__all__ = ["install_registered", "pickled_registered"]


def pickled_registered() -> list[bytes]:
    """Return every id outside the library's own as a pickled spec.

    A spec that does not pickle (an entry point that holds an open file, say) is left out: only a
    program that makes such an id in a worker would miss it, and gets the error for an unknown id.
    """
    import cloudpickle

    found = []
    for spec in registry.values():
        if _is_ours(spec):
            continue
        try:
            found.append(cloudpickle.dumps(spec))
        except Exception:
            continue
    return found


def install_registered(pickled: list[bytes]) -> None:
    """Register the ids in this process, except those that it has already.

    Args:
        pickled: What `pickled_registered` returned in the parent.
    """
    for data in pickled:
        try:
            spec = pickle.loads(data)
        except Exception:  # its module is not importable here: as if it had not been registered
            continue
        registry.setdefault(spec.id, spec)


def _is_ours(spec: Any) -> bool:
    entry_points = [each for each in (spec.entry_point, spec.vector_entry_point) if each]
    return all(isinstance(each, str) and each.startswith("gymcore.") for each in entry_points)
