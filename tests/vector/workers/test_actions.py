"""Batches of actions on their way into shared memory."""

from __future__ import annotations

import numpy as np
import pytest

from gymcore.error import InvalidAction
from gymcore.spaces import Box, Dict, Discrete, MultiDiscrete, Tuple
from gymcore.vector.layouts import layout_of
from gymcore.vector.workers.shared_memory import checked_actions, store_actions

DISCRETE = layout_of(Discrete(5))
BOX = layout_of(Box(-1, 1, (2,)))
NESTED = layout_of(Dict(a=Discrete(3), b=Tuple([Box(-1, 1, (2,)), MultiDiscrete([2, 3])])))


def nested_batch(n):
    return {
        "a": np.arange(n),
        "b": (np.full((n, 2), 0.5, np.float32), np.ones((n, 2), np.int64)),
    }


def test_arrays_that_fit_are_the_callers_own():
    actions = np.array([1, 2, 3])
    assert checked_actions(DISCRETE, actions, 3) is actions


@pytest.mark.parametrize(
    "actions",
    [[1, 2], (1, 2), np.array([1, 2], np.int8), np.array([1.0, 2.0]), [True, False], [1.0, 2.0]],
    ids=str,
)
def test_numbers_of_other_types(actions):
    found = checked_actions(DISCRETE, actions, 2)
    target = np.zeros(2, np.int64)
    store_actions(DISCRETE, target, found, slice(None))
    assert target.tolist() == [int(one) for one in actions]


@pytest.mark.parametrize(
    "actions",
    [[1], [1, 2, 3], [[1], [2]], 1, None, "ab", [1.5, 2.0], [np.nan, 1.0], [1j, 2], [[1], [2, 3]],
     np.array([2**63, 1], np.uint64), np.array([1e300, 0.0])],
    ids=str,
)  # fmt: skip
def test_what_is_no_batch_is_refused(actions):
    with pytest.raises(InvalidAction, match="actions: expected int64 array of shape"):
        checked_actions(DISCRETE, actions, 2)


def test_float_actions_are_cast():
    found = checked_actions(BOX, np.array([[0.1, 0.2]]), 1)
    target = np.zeros((1, 2), np.float32)
    store_actions(BOX, target, found, slice(None))
    assert target.tolist() == np.array([[0.1, 0.2]], np.float32).tolist()


def test_nested_batches_and_some_rows():
    checked = checked_actions(NESTED, nested_batch(2), 2)
    target = {
        "a": np.zeros(4, np.int64),
        "b": (np.zeros((4, 2), np.float32), np.zeros((4, 2), np.int64)),
    }
    store_actions(NESTED, target, checked, np.array([3, 1]))
    assert target["a"].tolist() == [0, 1, 0, 0]
    assert target["b"][0][:, 0].tolist() == [0.0, 0.5, 0.0, 0.5]
    assert target["b"][1][:, 0].tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (lambda batch: batch.pop("a"), "actions: expected a dict with"),
        (lambda batch: batch.update(b=batch["b"][:1]), "actions['b']: expected a tuple of 2"),
        (lambda batch: batch.update(b=3), "actions['b']: expected a tuple of 2"),
        (lambda batch: batch.update(a=[1]), "actions['a']: expected int64 array of shape (2,)"),
    ],
)
def test_errors_name_the_part(change, name):
    batch = nested_batch(2)
    change(batch)
    with pytest.raises(InvalidAction) as caught:
        checked_actions(NESTED, batch, 2)
    assert name in str(caught.value)
