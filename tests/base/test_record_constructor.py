from __future__ import annotations

import copy
import pickle
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from gymcore.base.record_constructor import snapshot
from gymcore.utils import RecordConstructorArgs
from tests.parity import compare


class NoCopy:
    def __deepcopy__(self, memo: Any) -> Any:
        raise RuntimeError("this cannot be copied")

    def __repr__(self) -> str:
        return "NoCopy"


def test_records_like_gymnasium() -> None:
    def scenario(gym: ModuleType) -> list[Any]:
        base = gym.utils.RecordConstructorArgs

        class Base(base):
            def __init__(self, a: Any) -> None:
                base.__init__(self, a=a)

        class More(Base):
            def __init__(self, a: Any, b: Any) -> None:
                base.__init__(self, a=a, b=b)
                Base.__init__(self, a)

        keys = ["x", "y"]
        recorded = More(keys, {"nested": keys})
        keys.append("later")
        shared = base(_disable_deepcopy=True, a=keys)
        return [recorded._saved_kwargs, Base(3)._saved_kwargs, shared._saved_kwargs["a"] is keys]

    assert compare(scenario).value == [
        {"a": ["x", "y"], "b": {"nested": ["x", "y"]}},
        {"a": 3},
        True,
    ]


class Base(RecordConstructorArgs):
    def __init__(self, env: Any, low: float, high: float = 1.0, **others: Any) -> None:
        self.env = env


class Derived(Base):
    def __init__(self, env: Any, *, width: list[int]) -> None:
        super().__init__(env, 0.0, high=float(len(width)))
        width.append(2)


def test_arguments_are_recorded_without_a_call() -> None:
    base = Base("env", 0.5, name=np)
    assert base._saved_kwargs == {"low": 0.5, "high": 1.0, "name": "numpy"}
    # The arguments of the class that was called, as they were then.
    derived = Derived("env", width=[1])
    assert derived._saved_kwargs == {"width": [1]}
    for again in (copy.copy(derived), pickle.loads(pickle.dumps(derived))):
        assert again._saved_kwargs == {"width": [1]}
    with pytest.raises(TypeError, match="low"):
        Base("env")  # type: ignore[call-arg]


def test_what_cannot_be_copied_is_kept_by_reference() -> None:
    model, array = NoCopy(), np.zeros(3)
    recorded = RecordConstructorArgs(model=model, arrays=[array])._saved_kwargs
    assert recorded["model"] is model
    assert recorded["arrays"][0] is array


@pytest.mark.parametrize("container", [[1, [2]], (1, [2]), {"a": [2]}, {1, 2}])
def test_snapshot_copies_builtin_containers(container: Any) -> None:
    copied = snapshot(container)
    assert copied == container
    assert type(copied) is type(container)
    assert copied is not container


def test_snapshot_keeps_subclasses_of_containers() -> None:
    class Config(dict):  # may hold more than its items
        pass

    config = Config(a=1)
    assert snapshot([config])[0] is config
