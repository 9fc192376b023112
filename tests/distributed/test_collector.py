"""Collecting in Ray actors on this machine, including actors that are late, lost or fail."""

from __future__ import annotations

import copy
import os

import numpy as np
import pytest

from gymcore import error
from gymcore.distributed import Collector
from gymcore.distributed.collector import MAX_LOSSES
from gymcore.distributed.fragment import FragmentMaker
from tests.distributed.policies import (
    Once,
    blackjack,
    cartpole,
    die,
    failing,
    linear,
    random_bits,
    sleep,
)
from tests.testing_env import assert_same

pytestmark = pytest.mark.usefixtures("ray")

WEIGHTS = np.array([0.1, -0.2, 0.3, 1.0], np.float32)
STEPS = 20


def test_fragments_are_those_of_makers_here():
    with Collector(cartpole, linear, num_actors=2, seed=5) as collector:
        makers = [FragmentMaker(cartpole, linear, 5, actor) for actor in range(2)]
        for weights in (WEIGHTS, -WEIGHTS):
            fragments = collector.collect(weights, STEPS)
            assert [fragment.actor for fragment in fragments] == [0, 1]
            for fragment, maker in zip(fragments, makers, strict=True):
                assert_same(tuple(fragment), tuple(maker.collect(weights, STEPS)))
        assert (collector.late, collector.lost, collector.restarts) == (0, 0, [0, 0])


def test_observations_of_several_parts():
    with Collector(blackjack, random_bits, 1) as collector:
        with pytest.raises(error.CopyNotSupported, match="Collector"):
            copy.copy(collector)
        (fragment,) = collector.collect(None, STEPS)
        assert_same(
            tuple(fragment), tuple(FragmentMaker(blackjack, random_bits, 0).collect(None, STEPS))
        )


def test_a_killed_actor_is_replaced_and_its_fragment_collected_anew(tmp_path):
    policy = Once(str(tmp_path / "done"), die)
    with Collector(cartpole, policy, 2, seed=3) as collector:
        first = collector.collect("before", STEPS)
        second = collector.collect("now", STEPS)  # in its first step one of the actors dies
        assert collector.lost == 1 and sorted(collector.restarts) == [0, 1]
        lost = collector.restarts.index(1)
        third = collector.collect("after", STEPS)
    for actor in range(2):
        maker = FragmentMaker(cartpole, policy, 3, actor)
        expected = [maker.collect("before", STEPS)]
        if actor == lost:  # new episodes, with streams of their own
            maker = FragmentMaker(cartpole, policy, 3, actor, restart=1)
        expected += [maker.collect("now", STEPS), maker.collect("after", STEPS)]
        found = [first[actor], second[actor], third[actor]]
        for one, other in zip(found, expected, strict=True):
            assert_same(tuple(one), tuple(other))
    assert not np.array_equal(second[lost].observations[0], first[lost].observations[0])


def test_an_actor_that_is_lost_again_and_again():
    with Collector(cartpole, lambda *_: os._exit(1), 1) as collector:
        with pytest.raises(error.WorkerDied, match="lost 4 times in a row"):
            collector.collect(None, STEPS)
        assert collector.lost == MAX_LOSSES + 1


def test_a_late_actor_is_left_out_and_its_fragment_discarded(tmp_path):
    policy = Once(str(tmp_path / "done"), sleep)
    with Collector(cartpole, policy, 2) as collector:
        assert len(collector.collect("before", STEPS)) == 2
        fragments = collector.collect("now", STEPS, timeout=1.5)
        if len(fragments) == 1:  # on a busy machine both may be late, which is an error
            assert collector.late == 1
            late = 1 - fragments[0].actor
            again = collector.collect("after", STEPS)
            assert [fragment.actor for fragment in again] == [0, 1]
            maker = FragmentMaker(cartpole, policy, 0, late)
            expected = [maker.collect(one, STEPS) for one in ("before", "now", "after")]
            assert_same(tuple(again[late]), tuple(expected[2]))  # the second one was discarded
        assert collector.lost == 0


def test_nobody_in_time():
    with Collector(cartpole, lambda *_: sleep(), 2) as collector:
        with pytest.raises(
            error.WorkerTimeout, match=r"no actor has returned a fragment in 0\.1 s"
        ):
            collector.collect(None, 1, timeout=0.1)
        assert collector.late == 2


def test_exceptions_of_policies_reach_the_caller():
    with Collector(cartpole, failing, 2) as collector:
        collector.collect("work", STEPS)
        with pytest.raises(ZeroDivisionError, match="the policy divides by zero") as caught:
            collector.collect("fail", STEPS)
        assert "in failing" in str(caught.value.__cause__)
        assert len(collector.collect("work", STEPS)) == 2
        assert collector.lost == 0 and sum(collector.restarts) in (1, 2)


def test_exceptions_of_environments_reach_the_caller():
    refused = pytest.raises(error.InvalidAction, match="outside Discrete")
    with Collector(cartpole, lambda *_: np.full(4, 7), 1) as collector, refused:
        collector.collect(None, STEPS)
    refused = pytest.raises(error.InvalidArgument, match="'SameStep', got one with 'Disabled'")
    with Collector(lambda: cartpole(mode="Disabled"), linear, 1) as collector, refused:
        collector.collect(WEIGHTS, STEPS)


def test_bad_arguments():
    for arguments, text in (
        ({"num_actors": 0}, "num_actors: expected at least 1, got 0"),
        ({"num_actors": 1.5}, "num_actors: expected an integer"),
        ({"num_actors": 1, "seed": -1}, "seed: expected at least 0, got -1"),
    ):
        with pytest.raises(error.Error, match=text):
            Collector(cartpole, linear, **arguments)
    refused = pytest.raises(error.InvalidArgument, match="steps: expected at least 1, got 0")
    with Collector(cartpole, linear, 1) as collector, refused:
        collector.collect(WEIGHTS, 0)
    with pytest.raises(error.ClosedEnvironmentError, match="the collector is closed"):
        collector.collect(WEIGHTS, 1)
