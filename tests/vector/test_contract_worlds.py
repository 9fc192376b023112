"""docs/contract.md, sections 18 and 19: every family of worlds of several agents, every adapter.

`test_contract_agents.py` compares worlds of the tests' own with a model of the contract. Here the
families of the package go through all ways of stepping and all forms of actions, and adapters that
make worlds of games are compared with the compiled engine.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import importlib.util
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gymcore as gym
from gymcore import error
from gymcore.interop.pettingzoo import ParallelVectorEnv, parallel_env
from gymcore.remote import HostedVectorEnv, RemoteVectorEnv
from gymcore.vector import AutoresetMode
from tests.remote.servers import running
from tests.vector.agents_model import Chase, Herd
from tests.vector.contract import DISABLED, MODES, NEXT_STEP, same_bytes
from tests.vector.test_contract_ways import (
    BAD_ACTIONS,
    BAD_SEEDS,
    FORMS,
    case,
    in_order,
    infos_at,
    keep,
    plain,
    scribble,
    without_times,
)

pytestmark = pytest.mark.usefixtures("numba_if_installed")

# Worlds with equal agents and with groups, with discrete and continuous actions, and with
# observations that are dicts; all end at the limit.
LIMIT = 3
WORLDS: dict[str, dict[str, Any]] = {
    "mpe/simple_spread_v3": {},
    "mpe/simple_adversary_v3": {"continuous_actions": True},
    "Foraging-5x5-2p-1f-v3": {},
    "rware-tiny-2ag-v2": {},
    "rware-imgdict-tiny-2ag-v2": {},
    "contract/Herd-v0": {},
    "contract/Chase-v0": {},
}
if importlib.util.find_spec("mujoco"):
    WORLDS |= {"mamujoco/HalfCheetah-2x3-v1": {}, "mamujoco/Hopper-3x1-v1": {}}
GAMES = importlib.util.find_spec("gymnasium") is not None  # whose spaces games have
ADAPTERS = ("remote", *(("games", "games in workers") if GAMES else ()))


@pytest.fixture(autouse=True)
def _worlds_of_the_tests() -> Iterator[None]:
    classes: dict[str, Any] = {"contract/Herd-v0": Herd, "contract/Chase-v0": Chase}
    for env_id, cls in classes.items():
        gym.register(env_id, cls)
    yield
    for env_id in classes:
        gym.registry.pop(env_id)


def make(env_id: str, mode: AutoresetMode, num_envs: int = 3) -> Any:
    options = {"autoreset_mode": mode, "episode_statistics": True}
    limit = {"max_episode_steps": LIMIT}
    return gym.make_vec(env_id, num_envs, vector_kwargs=options, **limit, **WORLDS[env_id])


@contextlib.contextmanager
def adapter(name: str, env_id: str, mode: AutoresetMode) -> Iterator[Any]:
    """Yield three worlds behind an adapter."""
    with contextlib.ExitStack() as stack:
        if name == "remote":
            hosted = make(env_id, mode)
            stack.callback(hosted.close)
            server = stack.enter_context(running(HostedVectorEnv(hosted, env_id)))
            envs: Any = RemoteVectorEnv(env_id, server.address)
        else:
            arguments: Any = {"max_episode_steps": LIMIT, **WORLDS[env_id]}
            games = [functools.partial(parallel_env, env_id, **arguments)] * 3
            engine = "async" if name.endswith("workers") else "sync"
            options: Any = {"autoreset_mode": mode, "episode_statistics": True}
            options |= {"num_workers": 2} if engine == "async" else {}
            envs = ParallelVectorEnv(games, engine, **options)
        stack.callback(envs.close)
        yield envs


def mapped(function: Callable[[Any], Any], tree: Any) -> Any:
    """Apply a function to the arrays in dicts."""
    if isinstance(tree, dict):
        return {key: mapped(function, part) for key, part in tree.items()}
    return function(tree)


def in_form(form: str, actions: Any, folder: Path) -> Any:
    """Return actions in a form, each array with files of its own."""
    if isinstance(actions, dict):
        folders = {key: folder / key for key in actions}
        for each in folders.values():
            each.mkdir(exist_ok=True)
        return {key: in_form(form, part, folders[key]) for key, part in actions.items()}
    return FORMS[form](actions, folder)


def exact_actions(envs: Any, count: int) -> Iterator[Any]:
    """Yield actions that every form holds exactly."""
    envs.action_space.seed(1)
    for _ in range(count):
        yield mapped(
            lambda a: a if a.dtype == np.int64 else np.trunc(a * 8) / np.float32(8),
            envs.action_space.sample(),
        )


def arrays_of(envs: Any, *shape: int) -> dict[str, Any]:
    """Return arrays for results, full of other values."""
    shape = (*shape, envs.num_envs)
    agents = len(envs.agents.names)
    observations = envs._empty_observations(shape)
    mapped(lambda array: array.fill(9), observations)
    return {
        "observations": observations,
        "rewards": np.full((*shape, agents), 7.0),
        "terminated": np.ones((*shape, agents), np.bool_),
        "truncated": np.ones((*shape, agents), np.bool_),
    }


def by_step_into(envs: Any, actions: Any) -> Any:
    arrays = arrays_of(envs)
    infos = envs.step_into(actions, **arrays)
    return (*arrays.values(), infos)


def by_bind_step(envs: Any, actions: Any) -> Any:
    arrays = arrays_of(envs)
    step = envs.bind_step(actions, **arrays)
    return (*arrays.values(), step())


def by_rollout(envs: Any, actions: Any) -> Any:
    one = mapped(lambda a: [a] if isinstance(a, list) else a[None], actions)
    *results, _, infos = envs.rollout(one, **arrays_of(envs, 1))
    return *(mapped(lambda a: a[0], part) for part in results), infos_at(infos, 0)


def by_send(envs: Any, actions: Any) -> Any:
    envs.send(actions, env_ids=np.arange(envs.num_envs))
    *results, infos = envs.recv(timeout=60)
    order = np.argsort(infos.pop("env_id"))
    results = [mapped(lambda a: a[order], part) for part in results]
    return (*results, in_order(infos, order))


def by_step_lanes(envs: Any, actions: Any) -> Any:
    *results, infos = envs.step_lanes(actions, np.arange(envs.num_envs))
    infos.pop("env_id")
    return (*results, infos)


WAYS: dict[str, Callable[[Any, Any], Any]] = {
    "step": lambda envs, actions: envs.step(actions),
    "step_into": by_step_into,
    "bind_step": by_bind_step,
    "rollout": by_rollout,
    "send": by_send,
    "step_lanes": by_step_lanes,
}


def native_cases() -> Iterator[Any]:
    """Yield worlds with every form, way and mode: not all combinations, but each with each."""
    for (i, env_id), (j, form) in itertools.product(enumerate(WORLDS), enumerate(FORMS)):
        way, mode = [*WAYS][(i + j) % len(WAYS)], MODES[(i + 2 * j + j // 3) % 3]
        if way == "rollout" and mode is DISABLED:  # which it refuses
            mode = NEXT_STEP
        yield case(env_id, way, mode, form)


def ended_worlds(step: Any) -> Any:
    """Return which worlds ended in a step that no reset followed."""
    return ~(step[4]["active"] & ~(step[2] | step[3])).any(axis=1)


def continue_episodes(mode: AutoresetMode, engines: Any, step: Any) -> int:
    """Reset worlds that ended, if they are not reset by themselves; return the number of ends."""
    if mode is DISABLED and ended_worlds(step).any():
        options = {"reset_mask": ended_worlds(step)}
        one, other = (envs.reset(options={**options}) for envs in engines)
        assert same_bytes(one, other)
    return int((step[2] | step[3]).sum())


@pytest.mark.parametrize(("env_id", "way", "mode", "form"), [*native_cases()])
def test_18_1_all_ways_of_stepping_worlds_agree(
    env_id: str, way: str, mode: AutoresetMode, form: str, tmp_path: Path
) -> None:
    envs, twin = engines = [make(env_id, mode) for _ in range(2)]
    assert same_bytes(envs.reset(seed=5), twin.reset(seed=5))
    results: list[Any] = []
    ends = 0
    for actions in exact_actions(twin, 3 * LIMIT):
        given = in_form(form, actions, tmp_path)
        step = WAYS[way](envs, given)
        expected = twin.step(mapped(lambda a: plain(a, form), actions))
        assert same_bytes(step[:4], expected[:4])
        if way == "rollout":  # which has its own arrays of them
            for name in ("final_obs", "_final_obs"):
                expected[4].pop(name, None)
        assert same_bytes(without_times(step[4]), without_times(expected[4]))
        keep(results, step)
        ends += continue_episodes(mode, engines, expected)
    assert ends >= 6
    assert same_bytes(envs.get_state().tobytes(), twin.get_state().tobytes())
    assert all(same_bytes(*pair) for pair in results)
    for batch in engines:
        batch.close()


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
@pytest.mark.parametrize("env_id", WORLDS)
def test_18_3_results_of_worlds_belong_to_the_caller(env_id: str, mode: AutoresetMode) -> None:
    envs, twin = engines = [make(env_id, mode) for _ in range(2)]
    scribble(envs.reset(seed=5))
    results: list[Any] = []
    keep(results, twin.reset(seed=5))
    for actions in exact_actions(twin, 3 * LIMIT):
        given = copy.deepcopy(actions)
        step, expected = envs.step(given), twin.step(actions)
        keep(results, expected)
        keep(results, twin.get_state())
        assert same_bytes(given, actions)
        assert same_bytes(step[:4], expected[:4])
        assert same_bytes(without_times(step[4]), without_times(copy.deepcopy(expected[4])))
        scribble(given), scribble(step), scribble(envs.get_state()["agent_states"])
        continue_episodes(mode, engines, expected)
    assert all(same_bytes(*pair) for pair in results)


def adapter_cases() -> Iterator[Any]:
    """Yield adapters with worlds, ways and modes."""
    for (i, name), (j, env_id) in itertools.product(enumerate(ADAPTERS), enumerate(WORLDS)):
        if name.endswith("workers") and env_id.startswith("contract/"):
            continue  # workers do not register the tests' own
        if name.startswith("games") and env_id == "mamujoco/Hopper-3x1-v1":
            continue  # two of its agents have equal spaces: games group, and so order, them anew
        for mode in MODES if name == "games" else [MODES[(i + j) % 3]]:
            yield case(name, env_id, mode, "send" if (i + j) % 2 else "step")


@pytest.mark.parametrize(("name", "env_id", "mode", "way"), [*adapter_cases()])
def test_18_2_adapters_of_worlds_agree(
    name: str, env_id: str, mode: AutoresetMode, way: str, tmp_path: Path
) -> None:
    twin = make(env_id, mode)
    with adapter(name, env_id, mode) as envs:
        assert envs.agents.names == twin.agents.names
        first, other = envs.reset(seed=3), twin.reset(seed=3)
        assert same_bytes(first[0], other[0])
        ends = 0
        results: list[Any] = []
        for form, actions in zip(FORMS, exact_actions(twin, len(FORMS)), strict=True):
            given = in_form(form, actions, tmp_path)
            step = WAYS[way](envs, given)
            expected = twin.step(mapped(lambda a, form=form: plain(a, form), actions))
            assert same_bytes(step[:4], expected[:4]), form
            finals = [each[4].get("final_obs") for each in (step, expected)]
            assert same_bytes(*finals), form
            assert same_bytes(step[4]["active"], expected[4]["active"]), form
            if name == "remote":
                assert same_bytes(without_times(step[4]), without_times(expected[4])), form
            keep(results, step)
            ends += int((step[2] | step[3]).sum())
            if mode is DISABLED and ended_worlds(expected).any():
                options = {"reset_mask": ended_worlds(expected)}
                one, other = envs.reset(options={**options}), twin.reset(options=options)
                assert same_bytes(one[0], other[0])
        assert ends >= 6
        assert all(same_bytes(*pair) for pair in results)
    twin.close()


@pytest.mark.parametrize("name", ["native", *ADAPTERS])
def test_18_4_worlds_raise_the_errors_of_the_contract(name: str) -> None:
    env_id = "mpe/simple_spread_v3"
    with contextlib.ExitStack() as stack:
        if name == "native":
            envs = stack.enter_context(contextlib.closing(make(env_id, NEXT_STEP)))
        else:
            envs = stack.enter_context(adapter(name, env_id, NEXT_STEP))
        good = np.ones((3, 3), np.int64)
        with pytest.raises(error.ResetNeeded):
            envs.step(good)
        for actions in (*BAD_ACTIONS, np.full((3, 3), 5), np.ones((3, 2), int), good[None]):
            envs.reset(seed=1)
            with pytest.raises(error.Error):
                envs.step(actions)
        for seed in BAD_SEEDS:
            with pytest.raises(error.Error):
                envs.reset(seed=seed)
        envs.reset(seed=1)
        expected = make(env_id, NEXT_STEP)
        expected.reset(seed=1)
        assert same_bytes(envs.step(good)[1], expected.step(good)[1])
        envs.close()
        for call in (lambda: envs.step(good), lambda: envs.reset(seed=1)):
            with pytest.raises(error.ClosedEnvironmentError):
                call()


def test_every_world_goes_every_way() -> None:
    cases = [each.values for each in native_cases()]
    for env_id in WORLDS:
        assert {way for name, way, _, _ in cases if name == env_id} == set(WAYS)
        assert {form for name, _, _, form in cases if name == env_id} == set(FORMS)
        assert len({mode for name, _, mode, _ in cases if name == env_id}) == 3


@pytest.mark.parametrize(
    "change",
    [
        lambda actions: {**actions, "agent": actions["agent"][:, :1]},
        lambda actions: {"agent": actions["agent"]},
        lambda actions: {**actions, "adversary": [[0.0], [0.0, 1.0]]},
        lambda actions: None,
    ],
    ids=["shape", "group", "ragged", "none"],
)
def test_6_actions_of_groups_are_checked_when_they_are_bound(change: Any) -> None:
    envs = make("mpe/simple_adversary_v3", NEXT_STEP)
    envs.reset(seed=1)
    (actions,) = exact_actions(envs, 1)
    with pytest.raises(error.InvalidAction, match="actions"):
        envs.bind_step(change(actions), **arrays_of(envs))
    envs.close()
