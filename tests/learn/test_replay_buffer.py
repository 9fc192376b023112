"""ReplayBuffer compared with a model that keeps every step in Python lists."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gymcore as gym
from gymcore.error import ArgumentTypeError, InvalidArgument, UnsupportedMode
from gymcore.learn import ReplayBuffer, Transitions
from gymcore.learn.replay_buffer import _saved_dtype, priority_tree_size
from gymcore.spaces import Box, Dict, Discrete, MultiBinary, Text, Tuple
from gymcore.vector.utils import batch_space, iterate

MODES = ("NextStep", "SameStep", "Disabled")


def fake_envs(num_envs, mode, observations, actions=None):
    """Return what a buffer reads of an environment."""
    return SimpleNamespace(
        num_envs=num_envs,
        single_observation_space=observations,
        single_action_space=actions or Discrete(9),
        metadata={"autoreset_mode": mode},
    )


class Model:
    """All records in a list: [observation, action, reward, terminated, number of the next one]."""

    def __init__(self, num_envs, capacity, n_steps, discount, stack):
        self.records, self.newest = [], [None] * num_envs
        self.open = [False] * num_envs  # whether the episode goes on
        self.capacity, self.n_steps, self.discount, self.stack = capacity, n_steps, discount, stack

    def append(self, observation):
        self.records.append([observation, None, 0, False, None])
        return len(self.records) - 1

    def add(self, lane, observation, action, reward, terminated, truncated, after):
        newest = self.newest[lane]
        if not self.open[lane] or (self.records[newest][0] != observation).any():
            newest = self.append(observation)
            for _ in range(self.stack - 1):
                self.records[newest][4] = newest = self.append(observation)
        self.records[newest][1:] = action, reward, terminated, self.append(after)
        self.newest[lane] = len(self.records) - 1
        self.open[lane] = not (terminated or truncated)

    def transitions(self):
        """Return a dict from indices to observation, action, reward, discount, next observation."""
        records, result = self.records, {}
        going_on = {self.newest[lane] for lane, is_open in enumerate(self.open) if is_open}
        for index in range(max(len(records) - self.capacity, 0), len(records)):
            first = index
            for _ in range(self.stack - 1):
                first = first if first is None else records[first][4]
            if first is None:
                continue
            total, factor, k, after = 0.0, 1.0, 0, first
            while records[after][4] is not None and k < self.n_steps:
                total += factor * float(np.float32(records[after][2]))
                factor *= 0.0 if records[after][3] else self.discount
                k, after = k + 1, records[after][4]
            if k == self.n_steps or (k > 0 and after not in going_on):
                result[index] = *records[first][:2], total, factor, records[after][0]
        return result


class Simulator:
    """Lanes whose frames are consecutive numbers; tests decide when episodes end."""

    def __init__(self, num_envs, mode, stack):
        self.mode, self.stack, self.frame = mode, stack, 0
        self.stacks = [self.first() for _ in range(num_envs)]
        self.ended = [False] * num_envs

    def first(self):
        self.frame += 1
        return np.array([0.0] * (self.stack - 1) + [self.frame]).reshape(self.stack, 1)

    def observations(self):
        batch = np.array(self.stacks)
        return batch if self.stack > 1 else batch[:, 0]

    def reset(self, lanes):
        for lane in lanes:
            self.stacks[lane], self.ended[lane] = self.first(), False

    def step(self, terminated, truncated):
        """Return next observations, flags and infos; `self.real` has what a model is to store."""
        finals = [None] * len(self.stacks)
        flags = np.array(terminated), np.array(truncated)
        self.real = []
        for lane, stack in enumerate(self.stacks):
            if self.ended[lane]:  # next-step autoreset
                flags[0][lane] = flags[1][lane] = False
                self.reset([lane])
                continue
            self.frame += 1
            self.stacks[lane] = after = np.concatenate([stack[1:], [[self.frame]]])
            self.real.append((lane, stack, after))
            if flags[0][lane] or flags[1][lane]:
                if self.mode == "SameStep":
                    finals[lane] = after if self.stack > 1 else after[0]
                    self.reset([lane])
                else:
                    self.ended[lane] = True
        infos = {}
        if any(final is not None for final in finals):
            infos["final_obs"] = np.empty(len(finals), object)
            infos["final_obs"][:] = finals
        return self.observations(), *flags, infos


def check(buffer, model):
    """Compare the transitions that a buffer draws with those of the model."""
    expected = model.transitions()
    assert len(buffer) == len(expected)
    if not expected:
        with pytest.raises(InvalidArgument):
            buffer.sample(1)
        return
    batch = buffer.sample(50)
    for row, index in enumerate(batch.indices.tolist()):
        observation, action, reward, discount, after = expected[index]
        if model.stack == 1:
            observation, after = observation[0], after[0]
        np.testing.assert_array_equal(batch.observations[row], observation)
        np.testing.assert_array_equal(batch.next_observations[row], after)
        assert batch.actions[row] == action
        assert batch.rewards[row] == np.float32(reward)
        assert batch.discounts[row] == np.float32(discount)
    assert (batch.weights == 1).all() or buffer._prioritized


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(data=st.data())
@pytest.mark.parametrize("stack", [1, 3])
@pytest.mark.parametrize("mode", MODES)
def test_against_the_model(mode, stack, data):
    with tempfile.TemporaryDirectory() as folder:
        compare_with_the_model(mode, stack, data, Path(folder, "steps.npy"))


def compare_with_the_model(mode, stack, data, path):
    num_envs, n_steps = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 5))
    capacity = num_envs * (1 + stack) * (n_steps + stack) + data.draw(st.integers(0, 50))
    discount, prioritized = data.draw(st.floats(0, 1)), data.draw(st.booleans())
    random = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    ends, resets = data.draw(st.sampled_from([0.0, 0.1, 0.5, 1.0])), data.draw(st.booleans())
    shape = (stack, 1) if stack > 1 else (1,)
    envs = fake_envs(num_envs, mode, Box(-np.inf, np.inf, shape, np.float64))
    arguments = {
        "n_steps": n_steps, "discount": discount, "stack": stack, "prioritized": prioritized,
    }  # fmt: skip
    buffer = ReplayBuffer(envs, capacity, **arguments, path=path, seed=1)
    model = Model(num_envs, capacity, n_steps, discount, stack)
    simulator = Simulator(num_envs, mode, stack)
    for _ in range(data.draw(st.integers(1, 30))):
        if resets and random.random() < 0.1:
            simulator.reset(np.flatnonzero(random.random(num_envs) < 0.5))
        if mode == "Disabled":
            simulator.reset(np.flatnonzero(simulator.ended))
        observations = simulator.observations()
        actions, rewards = random.integers(0, 9, num_envs), random.normal(size=num_envs)
        flags = random.random((2, num_envs)) < ends / 2
        after, terminated, truncated, infos = simulator.step(*flags)
        buffer.add(observations, actions, after, rewards, terminated, truncated, infos)
        for lane, stack_before, stack_after in simulator.real:
            step = actions[lane], rewards[lane], terminated[lane], truncated[lane]
            model.add(lane, stack_before, *step, stack_after)
        if random.random() < 0.3:
            check(buffer, model)
    check(buffer, model)
    content = path.read_bytes()
    path.with_name("copy").write_bytes(content)
    del buffer
    buffer = ReplayBuffer(envs, capacity, **arguments, path=path)
    copy = ReplayBuffer(envs, capacity, **arguments, path=path.with_name("copy"))
    assert path.read_bytes() == content
    check(buffer, model)
    check(copy, model)
    assert path.read_bytes() == path.with_name("copy").read_bytes()
    del buffer
    model.n_steps = arguments["n_steps"] = data.draw(st.integers(1, n_steps))
    check(ReplayBuffer(envs, capacity, **arguments, path=path), model)


def positions_agree(observations, after):
    """Return whether CartPole's positions move as far as its velocities say."""
    moved = observations[:, [0, 2]] + 0.02 * observations[:, [1, 3]]
    return np.allclose(after[:, [0, 2]], moved, atol=1e-6)


def steps_of(envs, count, seed=1):
    """Yield the arguments of `add` for steps with random actions, in any autoreset mode."""
    observations, _ = envs.reset(seed=seed)
    envs.action_space.seed(seed)
    for _ in range(count):
        actions = envs.action_space.sample()
        after, rewards, terminated, truncated, infos = envs.step(actions)
        yield observations, actions, after, rewards, terminated, truncated, infos
        observations = after
        done = np.logical_or(terminated, truncated)
        if envs.metadata["autoreset_mode"].value == "Disabled" and done.any():
            observations, _ = envs.reset(options={"reset_mask": done})


@pytest.mark.parametrize("entry_point", ["vector_entry_point", "sync", "async"])
@pytest.mark.parametrize("mode", MODES)
def test_cartpole_with_each_engine(mode, entry_point):
    options = {"autoreset_mode": mode}
    with gym.make_vec(
        "CartPole-v1",
        4,
        vectorization_mode=entry_point,
        vector_kwargs=options,
        max_episode_steps=20,
    ) as envs:
        buffer = ReplayBuffer(envs, 4_000, n_steps=1, seed=1)
        ended = 0
        for step in steps_of(envs, 300):
            buffer.add(*step)
            ended += np.count_nonzero(step[4])
        skipped = 1200 - len(buffer)
        assert skipped == (0 if mode != "NextStep" else skipped) and ended > 20
        batch = buffer.sample(2000)
    assert positions_agree(batch.observations, batch.next_observations)
    terminal = np.abs(batch.next_observations[:, 2]) > 12 * np.pi / 180
    np.testing.assert_array_equal(batch.discounts == 0, terminal)
    assert 20 < terminal.sum() < 400


def test_the_three_modes_store_the_same_transitions(tmp_path):
    stored = []
    for mode in MODES:
        options = {"autoreset_mode": mode, "num_threads": 1}
        envs = gym.make_vec("CartPole-v1", 1, vector_kwargs=options, max_episode_steps=10)
        buffer = ReplayBuffer(envs, 1_000, n_steps=3, path=tmp_path / mode)
        observations, _ = envs.reset(seed=3)
        for _ in range(100):
            for t in range(10):  # actions depend on the step within an episode only
                step = envs.step(np.array([t % 2]))
                buffer.add(observations, np.array([t % 2]), *step)
                observations = step[0]
                if step[2][0] or step[3][0]:
                    break
            if mode == "Disabled":
                observations, _ = envs.reset(options={"reset_mask": np.array([True])})
            if mode == "NextStep":
                step = envs.step(np.array([0]))
                buffer.add(observations, np.array([0]), *step)
                observations = step[0]
        stored.append(np.load(tmp_path / mode)[:900])
    for other in stored[1:]:
        np.testing.assert_array_equal(stored[0], other)


SPACES = {
    "discrete": Discrete(5),
    "dict": Dict(image=Box(0, 255, (3, 3), np.uint8), at=Tuple([Discrete(3), MultiBinary(2)])),
    "text": Text(4),
    "dict-with-text": Dict(mission=Text(4), at=Box(-1, 1, (2,))),
}


class Random(gym.Env):
    """Random observations of a space, whose number of steps is in the reward."""

    def __init__(self, space, actions):
        self.observation_space, self.action_space = space, actions

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        if seed is not None:
            self.observation_space.seed(seed)
        self.count = 0
        return self.observation_space.sample(), {}

    def step(self, action):
        self.count += 1
        return self.observation_space.sample(), float(self.count), self.count == 3, False, {}


def plain(value):
    """Return a value of a space as nested tuples of Python numbers."""
    if isinstance(value, dict):
        return tuple((key, plain(part)) for key, part in sorted(value.items()))
    if isinstance(value, (tuple, list)):
        return tuple(map(plain, value))
    return plain(value.tolist()) if hasattr(value, "tolist") else value


def rows_of(space, batch, size):
    return list(map(plain, iterate(batch_space(space, size), batch)))


@pytest.mark.slow
@pytest.mark.parametrize("actions", ["discrete", "dict", "dict-with-text"])
@pytest.mark.parametrize("space", list(SPACES))
@pytest.mark.parametrize("mode", MODES)
def test_any_space(mode, space, actions):
    spaces = SPACES[space], SPACES[actions]
    envs = gym.vector.SyncVectorEnv([lambda: Random(*spaces)] * 2, autoreset_mode=mode)
    buffer = ReplayBuffer(envs, 200, seed=1)
    seen = set()
    for before, acted, after, rewards, terminated, truncated, infos in steps_of(envs, 25):
        step = before, acted, after, rewards, terminated, truncated, infos
        buffer.add(*step)
        last = rows_of(spaces[0], after, 2)
        for lane in np.flatnonzero(terminated) if mode == "SameStep" else ():
            last[lane] = plain(infos["final_obs"][lane])
        rows = rows_of(spaces[0], before, 2), rows_of(spaces[1], acted, 2), rewards.tolist(), last
        seen |= {
            row for row in zip(*rows, terminated.tolist(), strict=True)
            if row[2] > 0  # not a step that only resets
        }  # fmt: skip
    batch = buffer.sample(150)
    rows = (
        rows_of(spaces[0], batch.observations, 150), rows_of(spaces[1], batch.actions, 150),
        batch.rewards.tolist(), rows_of(spaces[0], batch.next_observations, 150),
        (batch.discounts == 0).tolist(),
    )  # fmt: skip
    drawn = set(zip(*rows, strict=True))
    assert drawn <= seen
    assert len(buffer) >= len(drawn) > 25


def filled(seed=1, count=60, **arguments):
    """Return a buffer of CartPole steps."""
    envs = gym.make_vec("CartPole-v1", 4)
    buffer = ReplayBuffer(envs, arguments.pop("capacity", 160), seed=seed, **arguments)
    for step in steps_of(envs, count):
        buffer.add(*step)
    return buffer


def chi_square(counts, expected):
    """Return by how many standard deviations the statistic exceeds its mean."""
    statistic = ((counts - expected) ** 2 / expected).sum()
    return (statistic - len(counts)) / np.sqrt(2 * len(counts))


def counts_of(buffer, draws, **arguments):
    found = [buffer.sample(200, **arguments).indices for _ in range(draws // 200)]
    return np.unique(np.concatenate(found), return_counts=True)


def test_uniform_draws_are_uniform():
    buffer = filled()
    indices, counts = counts_of(buffer, 60_000)
    assert len(indices) == len(buffer)
    assert abs(chi_square(counts, 60_000 / len(buffer))) < 4


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0])
def test_prioritized_draws_are_in_proportion(alpha):
    buffer = filled(prioritized=True, alpha=alpha)
    indices, counts = counts_of(buffer, 40_000)
    assert len(indices) == len(buffer)
    assert chi_square(counts, 40_000 / len(buffer)) < 4  # all have the same priority at first
    priorities = np.random.default_rng(1).random(len(indices)) * 3
    priorities[3] = 0
    buffer.update_priorities(indices, priorities)
    shares = (priorities + 1e-6) ** alpha
    shares /= shares.sum()
    again, counts = counts_of(buffer, 400_000)
    drawn = np.isin(indices, again)
    assert drawn[np.arange(len(indices)) != 3].all()
    assert chi_square(counts, 400_000 * shares[drawn]) < 4
    batch = buffer.sample(64, beta=0.7)
    rows = np.searchsorted(indices, batch.indices)
    weights = (shares[rows] * len(buffer)) ** -0.7
    np.testing.assert_allclose(batch.weights, weights / weights.max(), rtol=1e-5)
    assert (buffer.sample(64, beta=0).weights == 1).all()


def test_new_transitions_have_the_largest_priority_so_far():
    envs = gym.make_vec("CartPole-v1", 4)
    buffer = ReplayBuffer(envs, 400, prioritized=True, alpha=1, seed=1)
    steps = steps_of(envs, 6)
    buffer.add(*next(steps))
    buffer.update_priorities(np.arange(0, 8, 2), [1e-5, 1e-5, 7, 1e-5])
    buffer.add(*next(steps))
    counts = dict(zip(*map(np.ndarray.tolist, counts_of(buffer, 10_000)), strict=True))
    assert {1, 3, 4, 5, 7} <= counts.keys()
    assert all(abs(counts[index] - 2_000) < 50 for index in (1, 3, 4, 5, 7))


def test_priorities_of_overwritten_transitions_are_skipped():
    buffer = filled(prioritized=True, count=200)
    old, before = np.arange(8), counts_of(buffer, 4000)[0]
    assert before.min() > 8
    buffer.update_priorities(old, np.full(8, 1e9))
    np.testing.assert_array_equal(counts_of(buffer, 4000)[0], before)


def test_arrays_belong_to_the_caller_and_out_is_filled():
    buffer, same = filled(), filled()
    first, second = buffer.sample(20), buffer.sample(20)
    assert not any(map(np.shares_memory, first, second))
    out = same.sample(20)
    for array, other in zip(out, first, strict=True):
        np.testing.assert_array_equal(array, other)
    assert same.sample(20, out=out) is out
    for array, other in zip(out, second, strict=True):
        np.testing.assert_array_equal(array, other)


def test_tensors_share_the_memory_that_is_filled():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    buffer, same = filled(prioritized=True), filled(prioritized=True)
    tensors = Transitions(*map(torch.from_numpy, buffer.sample(20)))
    assert buffer.sample(20, out=tensors) is tensors
    same.sample(20)
    for tensor, array in zip(tensors, same.sample(20), strict=True):
        np.testing.assert_array_equal(tensor.numpy(), array)
    buffer.update_priorities(tensors.indices, tensors.rewards)


def test_actions_and_rewards_may_have_other_types_of_the_same_kind():
    buffer = ReplayBuffer(fake_envs(2, "NextStep", Discrete(9)), 20)
    flags = np.zeros(2, np.bool_)
    buffer.add([1, 2], np.array([3, 4], np.int8), [5, 6], [7, 8], flags, flags.tolist(), {})
    batch = buffer.sample(20)
    rows = {tuple(row) for row in np.stack(batch[:3], axis=1).tolist()}
    assert rows == {(1, 3, 7), (2, 4, 8)}
    assert batch.actions.dtype == np.int64 and batch.next_observations.dtype == np.int64


def step_of(**changes):
    """Return the arguments of `add` for two lanes of CartPole, some of them changed."""
    ones, flags = np.ones((2, 4), np.float32), np.zeros(2, np.bool_)
    step = {
        "observations": ones, "actions": np.zeros(2, np.int64), "next_observations": ones,
        "rewards": np.zeros(2), "terminated": flags, "truncated": flags, "infos": {},
    }  # fmt: skip
    return list((step | changes).values())


BAD_STEPS = {
    "observations-of-one-lane": ({"observations": np.ones((1, 4), np.float32)}, "observations: "),
    "next-observations": ({"next_observations": np.ones(2)}, "next_observations: expected float32"),
    "actions-of-floats": ({"actions": np.ones(2)}, "actions: expected int64"),
    "actions-in-columns": ({"actions": np.ones((2, 1), np.int64)}, "actions: expected int64"),
    "rewards": ({"rewards": np.ones((2, 2))}, "rewards: expected float64"),
    "terminated-numbers": ({"terminated": np.ones(2)}, "terminated: expected bool"),
    "truncated": ({"truncated": False}, "truncated: expected bool"),
    "no-final-obs": ({"truncated": np.ones(2, np.bool_)}, "infos: expected 'final_obs'"),
    "final-obs-of-one-lane": (
        {"truncated": np.ones(2, np.bool_), "infos": {"final_obs": np.ones((1, 4), np.float32)}},
        "final_observations: expected float32",
    ),
    "final-obs-without-the-lane": (
        {"truncated": np.ones(2, np.bool_), "infos": {"final_obs": np.array([None, None])}},
        "infos: expected 'final_obs' with an element",
    ),
}


@pytest.mark.parametrize("changes, message", BAD_STEPS.values(), ids=BAD_STEPS.keys())
def test_bad_steps_change_nothing(changes, message, tmp_path):
    envs = gym.make_vec("CartPole-v1", 2, vector_kwargs={"autoreset_mode": "SameStep"})
    buffer = ReplayBuffer(envs, 20, path=tmp_path / "a")
    buffer.add(*step_of())
    before = (tmp_path / "a").read_bytes()
    with pytest.raises(InvalidArgument, match=message):
        buffer.add(*step_of(**changes))
    assert (tmp_path / "a").read_bytes() == before


def test_frames_that_do_not_continue_a_stack_are_refused():
    buffer = ReplayBuffer(fake_envs(1, "NextStep", Box(0, 9, (2,), np.float64)), 20, stack=2)
    flag = np.zeros(1, np.bool_)
    with pytest.raises(InvalidArgument, match=r"next_observations\[0\]: expected all frames"):
        buffer.add(np.array([[1.0, 2]]), [0], np.array([[1.0, 3]]), [0], flag, flag, {})


BAD_ARGUMENTS = {
    "envs": ((None, 10), {}, ArgumentTypeError, "envs"),
    "single-environment": ((Random(Discrete(2), Discrete(2)), 10), {}, ArgumentTypeError, "envs"),
    "capacity": ((None, 7), {}, InvalidArgument, "capacity"),
    "capacity-of-floats": ((None, 1e6), {}, ArgumentTypeError, "capacity"),
    "n_steps": ((None, 100), {"n_steps": 0}, InvalidArgument, "n_steps"),
    "more-steps-than-capacity": ((None, 100), {"n_steps": 50}, InvalidArgument, "capacity"),
    "discount": ((None, 100), {"discount": 1.1}, InvalidArgument, "discount"),
    "alpha": ((None, 100), {"alpha": float("nan")}, InvalidArgument, "alpha"),
    "alpha-of-text": ((None, 100), {"alpha": "1"}, ArgumentTypeError, "alpha"),
    "stack": ((None, 100), {"stack": 2}, InvalidArgument, "stack"),
    "seed": ((None, 100), {"seed": -1}, InvalidArgument, "Seed"),
}


@pytest.mark.parametrize("given, options, cls, message", BAD_ARGUMENTS.values(), ids=BAD_ARGUMENTS)
def test_bad_arguments(given, options, cls, message, request):
    name = request.node.callspec.id
    envs, capacity = given
    if envs is None and name != "envs":
        envs = gym.make_vec("CartPole-v1", 4)
    with pytest.raises(cls, match=message):
        ReplayBuffer(envs, capacity, **options)


BAD_SAMPLES = {
    "no-size": ((0, {}), InvalidArgument, "batch_size"),
    "beta": ((8, {"beta": -1}), InvalidArgument, "beta"),
    "out-of-another-size": ((9, {"out": {}}), InvalidArgument, "observations"),
    "out-dtype": ((8, {"out": {"rewards": np.zeros(8)}}), InvalidArgument, "rewards"),
    "out-list": ((8, {"out": {"actions": [0] * 8}}), ArgumentTypeError, "out.actions"),
    "out-read-only": (
        (8, {"out": {"weights": np.broadcast_to(np.float32(1), 8)}}), InvalidArgument, "weights",
    ),
}  # fmt: skip


@pytest.mark.parametrize("call, cls, message", BAD_SAMPLES.values(), ids=BAD_SAMPLES)
def test_bad_samples(call, cls, message):
    buffer = filled()
    size, arguments = call
    if "out" in arguments:
        arguments = {"out": buffer.sample(8)._replace(**arguments["out"])}
    with pytest.raises(cls, match=message):
        buffer.sample(size, **arguments)


def test_arrays_to_write_to_may_not_overlap():
    buffer = filled()
    batch = buffer.sample(8)
    with pytest.raises(InvalidArgument, match="discounts: expected memory of its own"):
        buffer.sample(8, out=batch._replace(discounts=batch.rewards))


def test_an_empty_buffer_has_nothing_to_draw():
    buffer = ReplayBuffer(gym.make_vec("CartPole-v1", 2), 20)
    assert len(buffer) == 0 and buffer.capacity == 20
    with pytest.raises(InvalidArgument, match="no transition"):
        buffer.sample(1)


BAD_PRIORITIES = {
    "negative": ([0], [-1.0], r"priorities\[0\]: expected 0 to 3e38"),
    "nan": ([0, 1], [1, np.nan], r"priorities\[1\]"),
    "infinite": ([0], [np.inf], r"priorities\[0\]"),
    "lengths": ([0, 1], [1], "priorities: expected float64 array of shape"),
    "newest": ([7], [1], r"indices\[0\]"),
    "negative-index": ([-1], [1], r"indices\[0\]"),
    "far": ([0, 2**62], [1, 1], r"indices\[1\]"),
    "indices-of-floats": ([0.5], [1], "indices: expected int64"),
}


@pytest.mark.parametrize(
    "indices, priorities, message", BAD_PRIORITIES.values(), ids=BAD_PRIORITIES
)
def test_bad_priorities_change_nothing(indices, priorities, message, tmp_path):
    envs = gym.make_vec("CartPole-v1", 4)
    buffer = ReplayBuffer(envs, 40, prioritized=True, path=tmp_path / "a")
    buffer.add(*next(steps_of(envs, 1)))
    before = (tmp_path / "a").read_bytes()
    with pytest.raises(InvalidArgument, match=message):
        buffer.update_priorities(indices, priorities)
    assert (tmp_path / "a").read_bytes() == before
    with pytest.raises(UnsupportedMode, match="prioritized=True"):
        filled().update_priorities([0], [1])


SPOILED = {
    "version": ("version", 9, "version 1"),
    "stack": ("stack", 2, "stack 1"),
    "alpha": ("alpha", 0.5, "alpha 0.6"),
    "largest-priority": ("max_priority", np.nan, "positive priority"),
    "generator": ("random", 2, "generator"),
    "negative-head": ("head", -1, "number of records"),
    "head-that-overflows": ("head", 2**62, "number of records"),
    "head-of-another-step": ("head", 33, "lane 0"),
    "state-of-a-lane": ("states", 7, "lane 0"),
    "negative-window": ("windows", -1, "lane 0"),
    "window-out-of-bounds": ("windows", 160, "lane 0"),
    "window-with-a-step": ("windows", 50, "lane 0"),
    "lanes-in-one-episode": ("windows", lambda windows: windows[0, 0], "lane 1"),
    "newest-has-a-step": ("next", 1, "lane 0"),
    "step-to-the-future": ("next", 9, "record 5", 5),
    "step-out-of-bounds": ("next", 2**31 - 1, "record 5", 5),
    "negative-step-out-of-bounds": ("next", -(2**31), "record 5", 5),
    "negative-priority": ("tree", -1, "record 44", (0, 44)),
    "priority-nan": ("tree", np.nan, "record 44", (0, 44)),
}


def spoil(path, field, value, at=()):
    """Write another value to a field of a buffer's file."""
    array = np.load(path, mmap_mode="r+")
    if field not in array.dtype.names:
        dtype = _saved_dtype(4, priority_tree_size(len(array)))
        array = np.memmap(path, np.uint8, "r+")[-dtype.itemsize :].view(dtype)
    array[field][at] = value(array[field]) if callable(value) else value


@pytest.mark.parametrize("spoiling", SPOILED.values(), ids=SPOILED)
def test_spoiled_files(spoiling, tmp_path):
    field, value, message, *at = spoiling
    path = tmp_path / "steps.npy"
    filled(prioritized=True, path=path)
    spoil(path, field, value, *at)
    content = path.read_bytes()
    with pytest.raises(InvalidArgument, match=message):
        filled(prioritized=True, path=path, count=0)
    assert path.read_bytes() == content


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_random_files_raise_or_work(data):
    """Whatever a file holds, drawing from it and adding to it stays in bounds."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "steps.npy")
        filled(prioritized=True, n_steps=3, path=path)
        content = bytearray(path.read_bytes())
        for _ in range(data.draw(st.integers(1, 4))):
            content[data.draw(st.integers(128, len(content) - 1))] = data.draw(st.integers(0, 255))
        path.write_bytes(content)
        try:
            buffer = filled(prioritized=True, n_steps=3, path=path)
        except InvalidArgument:
            return
        buffer.sample(20)


@pytest.mark.parametrize("prioritized", [False, True], ids=["uniform", "prioritized"])
@pytest.mark.parametrize("value", [2**31 - 1, -(2**31), 0])
def test_files_that_change_while_they_are_used(value, prioritized, tmp_path):
    """Another process may write to the file: what is drawn is wrong then, but in bounds."""
    path = tmp_path / "steps.npy"
    buffer = filled(prioritized=prioritized, n_steps=3, path=path)
    steps = list(steps_of(gym.make_vec("CartPole-v1", 4), 30))
    for _ in range(3):
        spoil(path, "next", value)
        if prioritized:
            spoil(path, "windows", 2**40)
            spoil(path, "tree", np.inf)
        buffer.sample(200)
        for step in steps:
            buffer.add(*step)


def test_a_file_continues(tmp_path):
    path = tmp_path / "steps.npy"
    arguments = {"prioritized": True, "n_steps": 2}
    mapped, plain = filled(path=path, **arguments), filled(**arguments)
    with pytest.raises(InvalidArgument, match="in use by another buffer"):
        filled(path=path, **arguments)
    del mapped
    envs = gym.make_vec("CartPole-v1", 4)
    mapped = ReplayBuffer(envs, 160, path=path, seed=9, **arguments)
    assert len(mapped) == len(plain)
    for step in steps_of(envs, 30, seed=5):
        mapped.add(*step)
        plain.add(*step)
        for one, other in zip(mapped.sample(8), plain.sample(8), strict=True):
            np.testing.assert_array_equal(one, other)
    assert np.load(path, mmap_mode="r").dtype.names == (
        "observations", "actions", "reward", "next",
    )  # fmt: skip


BAD_FILES = {
    "empty": lambda content: b"",
    "short": lambda content: content[:-1],
    "long": lambda content: content + b"0",
    "header": lambda content: content.replace(b"<f4", b"<i4", 1),
    "noise": lambda content: bytes(reversed(content)),
    "lanes": lambda content: content[:-8] + b"\xff" * 8,
}


@pytest.mark.parametrize("spoil", BAD_FILES.values(), ids=BAD_FILES)
def test_bad_files(spoil, tmp_path):
    path = tmp_path / "steps.npy"
    filled(path=path)
    path.write_bytes(spoil(path.read_bytes()))
    content = path.read_bytes()
    with pytest.raises(InvalidArgument, match=r"path|steps\.npy"):
        filled(path=path)
    assert path.read_bytes() == content


def test_files_of_other_buffers(tmp_path):
    path = tmp_path / "steps.npy"
    filled(path=path)
    for arguments in ({"capacity": 164}, {"prioritized": True}):
        with pytest.raises(InvalidArgument, match="path: expected the file of a buffer"):
            filled(path=path, **arguments)
    with pytest.raises(InvalidArgument, match="regular file"):
        filled(path=tmp_path)
    with pytest.raises(FileNotFoundError):
        filled(path=tmp_path / "no" / "steps.npy")


def test_objects_cannot_be_stacked_or_stored_in_files(tmp_path):
    envs = fake_envs(2, "NextStep", Text(3))
    for arguments in ({"stack": 2}, {"path": tmp_path / "a"}):
        with pytest.raises(UnsupportedMode, match="expected spaces of arrays"):
            ReplayBuffer(envs, 20, **arguments)


def test_atari_stacks_are_stored_once(tmp_path):
    pytest.importorskip("ale_py", reason="ale_py is not installed")
    envs = gym.make_vec("ALE/Pong-v5", 2)
    buffer = ReplayBuffer(envs, 120, stack=4, seed=1, path=tmp_path / "frames")
    whole = ReplayBuffer(envs, 120, seed=1, path=tmp_path / "stacks")
    seen = {}
    # The first stack and the observation after the first step of each lane, then one of each lane.
    records = [[*range(5 * lane, 5 * lane + 5), *range(10 + lane, 120, 2)] for lane in range(2)]
    for number, step in enumerate(steps_of(envs, 50)):
        buffer.add(*step)
        whole.add(*step)
        seen |= {records[lane][number]: (step[0][lane], step[2][lane]) for lane in range(2)}
    batch = buffer.sample(100)
    for row, index in enumerate(batch.indices.tolist()):
        np.testing.assert_array_equal(batch.observations[row], seen[index][0])
        np.testing.assert_array_equal(batch.next_observations[row], seen[index][1])
    sizes = [path.stat().st_size for path in (tmp_path / "frames", tmp_path / "stacks")]
    assert sizes[0] * 3.9 < sizes[1]


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_a_forked_child_does_not_write_to_the_buffer_of_its_parent():
    buffer = ReplayBuffer(fake_envs(1, "SameStep", Box(0, 9, (2,))), 8, seed=1)
    step = (np.zeros((1, 2), np.float32), [0], np.ones((1, 2), np.float32), [1.0], [True], [False])
    infos = {"final_obs": step[2]}
    buffer.add(*step, infos)
    child = os.fork()
    if child == 0:
        for _ in range(20):
            buffer.add(step[2] + 5, [1], step[2] + 6, [9.0], [True], [False], infos)
        os._exit(0)
    os.waitpid(child, 0)
    assert buffer.sample(4).rewards.tolist() == [1] * 4


def test_environments_of_gymnasium():
    gymnasium = pytest.importorskip("gymnasium", reason="gymnasium is not installed")
    envs = gymnasium.make_vec("CartPole-v1", 3, vectorization_mode="sync")
    buffer = ReplayBuffer(envs, 300)
    for step in steps_of(envs, 60):
        buffer.add(*step)
    batch = buffer.sample(200)
    assert positions_agree(batch.observations, batch.next_observations)
