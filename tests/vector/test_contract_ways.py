"""docs/contract.md, section 18: ways of stepping, forms of actions, and ownership of results.

Every family of the compiled engine goes through every way, form and mode, and every adapter
through the forms; not through all combinations, but each with each.
"""

import copy
import importlib.util
import itertools

import numpy as np
import pytest

import gymcore as gym
from gymcore import error
from gymcore.native.vector_env import NativeVectorEnv
from tests.vector.contract import (
    ARRAY_ID,
    ATARI_ID,
    CONTROL_IDS,
    DISABLED,
    ENDING_STATES,
    IDS_OF,
    MODES,
    NEXT_STEP,
    calm_seed,
    draw_actions,
    infos_at,
    make_envs,
    outputs,
    rows,
    same_bytes,
    stagger,
    states_of,
    written,
)
from tests.vector.contract_adapters import ADAPTERS, ERAS, ONE_MODE, SENDING, adapter, make_one

STEPS = 5
# Infos of other layouts: Ray's actors run the compiled engine, whose `final_obs` is one array.
OTHER_LAYOUTS = (*ERAS, "ray")


class Subclass(np.ndarray):
    """A subclass of arrays, of which other libraries have many."""


def strided(actions):
    return np.repeat(actions, 2, axis=-1)[..., ::2]


def read_only(actions):
    actions = actions.copy()
    actions.flags.writeable = False
    return actions


def memmap(actions, folder):
    found = np.memmap(folder / "actions", actions.dtype, "w+", shape=actions.shape)
    found[:] = actions
    return found


def tensor(actions):
    import torch

    return torch.from_numpy(actions.copy())


FORMS = {
    "array": lambda a, _: a.copy(),
    "list": lambda a, _: a.tolist(),
    "small": lambda a, _: a.astype(np.int8 if a.dtype == np.int64 else np.float16),
    "wide": lambda a, _: a.astype(np.int32 if a.dtype == np.int64 else np.float64),
    "swapped": lambda a, _: a.astype(a.dtype.newbyteorder()),
    "read_only": lambda a, _: read_only(a),
    "strided": lambda a, _: strided(a),
    "fortran": lambda a, _: np.asfortranarray(a),
    "subclass": lambda a, _: a.copy().view(Subclass),
    "memmap": memmap,
}
if importlib.util.find_spec("torch"):
    FORMS["tensor"] = lambda a, _: tensor(a)
DOUBLE_FORMS = ("list", "wide")  # of continuous actions


def exact_actions(envs, count):
    """Return actions that every form holds exactly: multiples of an eighth, or integers."""
    actions = draw_actions(envs, count)
    return actions if actions.dtype == np.int64 else np.trunc(actions * 8) / np.float32(8)


def plain(actions, form):
    """Return the same actions in the array with which those of the form agree."""
    continuous = actions.dtype == np.float32
    return actions.astype(np.float64) if continuous and form in DOUBLE_FORMS else actions


# How an engine steps: functions of the engine and of actions that return a step's results.


def by_step(envs, actions):
    return envs.step(actions)


def by_step_into(envs, actions):
    arrays = outputs(envs)
    infos = envs.step_into(actions, **arrays)
    return (*arrays.values(), infos)


def by_bind_step(envs, actions):
    arrays = outputs(envs)
    step = envs.bind_step(actions, **arrays)
    return (*arrays.values(), step())


def by_rollout(envs, actions):
    actions = [actions] if isinstance(actions, list) else actions[None]
    *results, _, infos = envs.rollout(actions, **outputs(envs, 1))
    return *(rows(one, 0) for one in results), infos_at(infos, 0)


def by_send(envs, actions):
    envs.send(actions, env_ids=np.arange(envs.num_envs))
    *results, infos = envs.recv(timeout=60)
    order = np.argsort(infos.pop("env_id"))
    return [rows(one, order) for one in results] + [in_order(infos, order)]


def in_order(infos, order):
    """Return the rows of infos in another order."""
    if isinstance(infos, dict):
        return {key: in_order(one, order) for key, one in infos.items()}
    return infos[order]


WAYS = {
    "step": by_step,
    "step_into": by_step_into,
    "bind_step": by_bind_step,
    "rollout": by_rollout,
    "send": by_send,
}


def native_cases():
    """Yield ids with every form, way and mode."""
    for (i, env_id), (j, form) in itertools.product(enumerate(IDS_OF["native"]), enumerate(FORMS)):
        ways = ("step",) if env_id == ARRAY_ID else tuple(WAYS)
        way, mode = ways[(i + j) % len(ways)], MODES[(i + 2 * j + j // 3) % 3]
        if way == "rollout" and mode is DISABLED:  # which it refuses
            mode = NEXT_STEP
        yield pytest.param(env_id, way, mode, form, id=f"{env_id}-{way}-{mode.value}-{form}")


def without_times(infos):
    """Remove the durations of episodes from infos."""
    infos.get("episode", {}).pop("t", None)
    return infos


def written_finals(infos):
    """Remove the missions from last observations, if they are dicts."""
    for lane in np.flatnonzero(infos.get("_final_obs", ())):
        if isinstance(infos["final_obs"][lane], dict):
            infos["final_obs"][lane] = written(infos["final_obs"][lane])


def continue_episodes(mode, engines, step):
    """Reset the lanes that a step ended, if they are not reset by themselves."""
    ended = step[2] | step[3]
    if mode is DISABLED and ended.any():
        one, other = (envs.reset(options={"reset_mask": ended}) for envs in engines)
        assert same_bytes(one, other)


@pytest.mark.parametrize(("env_id", "way", "mode", "form"), list(native_cases()))
def test_18_1_all_ways_of_stepping_agree(make, env_id, way, mode, form, tmp_path):
    options = {"max_episode_steps": 3, "vector_kwargs": {"episode_statistics": True}}
    envs, twin = engines = [make("native", mode, **options) for _ in range(2)]
    stagger(envs), stagger(twin)
    ends, kept = 0, []
    for actions in exact_actions(envs, STEPS):
        form_of_actions = FORMS[form](actions, tmp_path)
        *results, infos = WAYS[way](envs, form_of_actions)
        *expected, expected_infos = twin.step(plain(actions, form))
        if way not in ("step", "send"):
            expected[0] = written(expected[0])
            written_finals(expected_infos)
        assert same_bytes(results, expected)
        if way == "rollout":  # which has its own arrays of them
            expected_infos = {k: v for k, v in expected_infos.items() if "final_obs" not in k}
        assert same_bytes(without_times(infos), without_times(expected_infos))
        keep(kept, (results, infos))
        ends += (expected[2] | expected[3]).sum()
        continue_episodes(mode, engines, expected)
    assert ends >= 3
    if env_id != ARRAY_ID:
        assert same_bytes(states_of(envs), states_of(twin))
    *results, infos = envs.step(actions)
    *expected, expected_infos = twin.step(actions)
    assert same_bytes(results, expected)
    assert same_bytes(without_times(infos), without_times(expected_infos))
    assert all(same_bytes(*pair) for pair in kept)


def keep(kept, result):
    """Append a result of a call and a copy of it, which later calls must not make differ."""
    kept.append((result, copy.deepcopy(result)))


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
@pytest.mark.parametrize("env_id", [one for one in IDS_OF["native"] if one != ARRAY_ID])
def test_18_1_some_lanes_are_stepped_into_arrays(make, env_id, mode):
    options = {"max_episode_steps": 3, "vector_kwargs": {"episode_statistics": True}}
    engines = envs, bound, twin = [make("native", mode, **options) for _ in range(3)]
    for one in engines:
        stagger(one)
    lanes = np.array([2, 0])
    arrays, others = ({k: rows(a, slice(2)) for k, a in outputs(envs).items()} for _ in range(2))
    given = np.empty_like(envs.action_space.sample()[:2])
    step = bound.bind_step(given, **others, env_ids=lanes)
    for actions in exact_actions(envs, 2 * STEPS):
        given[...] = actions[:2]
        *expected, expected_infos = twin.step_lanes(given, lanes)
        expected[0] = written(expected[0])
        written_finals(expected_infos)
        infos = envs.step_into(given.copy(), **arrays, env_ids=lanes), step()
        for results, found in zip((arrays, others), infos, strict=True):
            assert same_bytes(list(results.values()), expected)
            assert same_bytes(without_times(found), without_times(dict(expected_infos)))
        ended = np.zeros(envs.num_envs, bool)
        ended[lanes] = expected[2] | expected[3]
        if mode is DISABLED and ended.any():
            for one in engines:
                one.reset(options={"reset_mask": ended})
    for one in (envs, bound):
        assert same_bytes(states_of(one), states_of(twin))


def starts_workers(name):
    """Return whether an adapter has worker processes."""
    return name in ("async", "pipes", "custom") or name.endswith("Async")


def case(name, *values):
    """Return a case of an adapter; those with workers run in a small process."""
    words = [value.value if value in MODES else value for value in (name, *values)]
    marks = [pytest.mark.starts_processes] if starts_workers(name) else []
    return pytest.param(name, *values, id="-".join(words), marks=marks)


def adapter_cases():
    """Yield adapters with ids, modes and ways."""
    ids = ("CartPole-v1", "Hopper-v5", "MiniGrid-DoorKey-5x5-v0", "MountainCarContinuous-v0")
    ids += CONTROL_IDS[1:]
    for (i, name), (j, env_id) in itertools.product(enumerate(ADAPTERS), enumerate(ids)):
        if name in ("async", "custom", "gym21-Async", "gym26-Async", "gymnasium029-Async"):
            env_id = env_id if "MiniGrid" not in env_id else "Taxi-v4"
        if name.endswith("Async") and j > 1:
            continue
        mode = ONE_MODE.get(name, MODES[(i + j) % 3])
        way = "send" if name in SENDING and (i + j) % 2 else "step"
        yield case(name, env_id, mode, way)


FIRST = ("async", "CartPole-v1")  # the case with workers that takes tensors


def final_observations(infos):
    """Return the last observations of the episodes that ended, by lane."""
    marks = infos.get("_final_obs", ())
    return {i: infos["final_obs"][i] for i in np.flatnonzero(marks).tolist()}


@pytest.mark.parametrize(("name", "env_id", "mode", "way"), list(adapter_cases()))
def test_18_2_adapters_agree(name, env_id, mode, way, tmp_path):
    space = make_one(env_id).action_space
    rng = np.random.default_rng(0)
    with adapter(name, env_id, mode) as envs, adapter("sync", env_id, mode) as twin:
        one, other = envs.reset(seed=3), twin.reset(seed=3)
        assert same_bytes(one[0], other[0])
        ends = 0
        for form in FORMS:
            if form == "tensor" and starts_workers(name) and (name, env_id) != FIRST:
                continue  # importing torch takes every new process a second
            if isinstance(space, gym.spaces.Discrete):
                actions = rng.integers(min(space.n, 3), size=3)
            else:
                low, high = np.maximum(space.low, -1), np.minimum(space.high, 1)
                actions = rng.uniform(low, high, (3, *space.shape)).astype(np.float32)
                actions = np.trunc(actions * 8) / np.float32(8)
            step = WAYS[way](envs, FORMS[form](actions, tmp_path))
            expected = twin.step(plain(actions, form))
            assert same_bytes(step[:4], expected[:4]), form
            assert same_bytes(final_observations(step[4]), final_observations(expected[4])), form
            if name not in OTHER_LAYOUTS:
                assert same_bytes(step[4], expected[4]), form
            ends += (expected[2] | expected[3]).sum()
            continue_episodes(mode, (envs, twin), expected)
        assert ends >= 6


# 18.3 and 18.4


def scribble(value):
    """Write into everything that a call returned."""
    if isinstance(value, dict):
        for one in list(value.values()):
            scribble(one)
        value.clear()
    elif isinstance(value, (tuple, list)):
        for one in value:
            scribble(one)
        if isinstance(value, list):
            value.clear()
    elif isinstance(value, np.ndarray) and value.dtype == object:
        for one in value.ravel():
            scribble(one)
        if value.flags.writeable:  # the missions of MiniGrid are not
            value[...] = None
    elif isinstance(value, np.ndarray):
        value[...] = True if value.dtype == np.bool_ else 77


def owning_cases():
    """Yield ids of the compiled engine, and adapters, with modes."""
    for i, env_id in enumerate(IDS_OF["native"]):
        mode = MODES[i % 3]
        yield case("native", env_id, mode)
    ids = ("MiniGrid-DoorKey-5x5-v0", "Hopper-v5", CONTROL_IDS[1], "Taxi-v4")
    for i, name in enumerate(ADAPTERS):
        for k, mode in enumerate([ONE_MODE[name]] if name in ONE_MODE else MODES):
            env_id = ids[(i + k) % 4]
            if "MiniGrid" in env_id and (name in ("async", "custom") or "Async" in name):
                env_id = ids[1]  # shared memory holds no texts
            yield case(name, env_id, mode)


@pytest.mark.parametrize(("name", "env_id", "mode"), list(owning_cases()))
def test_18_3_results_belong_to_the_caller_and_actions_are_copied(name, env_id, mode):
    if name == "native":
        engines = [make_envs(env_id, "native", mode, max_episode_steps=3) for _ in range(2)]
        check_owning(engines, mode)
        for envs in engines:
            envs.close()
    else:
        with adapter(name, env_id, mode) as envs, adapter("sync", env_id, mode) as twin:
            check_owning([envs, twin], mode, compares_infos=name not in OTHER_LAYOUTS)


def check_owning(engines, mode, compares_infos=True):
    """Write into all results of one engine, and compare it with another one."""
    envs, twin = engines
    space = twin.single_action_space
    seed = 5 if twin.spec is None else calm_seed(twin, 5)
    scribble(envs.reset(seed=seed))
    kept = []
    keep(kept, twin.reset(seed=seed))
    rng = np.random.default_rng(1)
    for _ in range(2 * STEPS):
        if isinstance(space, gym.spaces.Discrete):
            actions = rng.integers(min(space.n, 3), size=3)
        else:
            low, high = np.maximum(space.low, -1), np.minimum(space.high, 1)
            actions = rng.uniform(low, high, (3, *space.shape)).astype(np.float32)
        given = actions.copy()
        step, expected = envs.step(given), twin.step(actions)
        keep(kept, expected)
        for one in results_of_other_calls(twin):
            keep(kept, one)
        for one in results_of_other_calls(envs):
            scribble(one)
        assert same_bytes(given, actions)
        given[...] = 0
        assert same_bytes(step[:4], expected[:4])
        if compares_infos:
            assert same_bytes(step[4], expected[4])
        ended = expected[2] | expected[3]
        scribble(step)
        if mode is DISABLED and ended.any():
            options = {"reset_mask": ended}
            one, other = envs.reset(options=options), twin.reset(options={**options})
            assert same_bytes(one, other)
            keep(kept, other)
            scribble(one)
    assert all(same_bytes(*pair) for pair in kept)


def results_of_other_calls(envs):
    """Yield attributes and states, as far as the engine has them."""
    if isinstance(envs, NativeVectorEnv):
        yield envs.get_attr("state")
    if isinstance(envs, (NativeVectorEnv, gym.vector.SyncVectorEnv)):
        yield envs.get_state()


BAD_ACTIONS = (
    *(None, 3, "abc", object(), [None] * 3, [[0, 1], [0], 1], {}, [{}] * 3),
    *([], [0, 1], [0, 1, 1, 0], [0, 0, 2], [0, -1, 1], np.ones(3)),
)
BAD_SEEDS = (-1, [1, 2], [], 1.0, "123", [1, 2.5, 3], np.array([1.0, 2.0, 3.0]))


# A custom loop decides itself what it does after an exception.
@pytest.mark.parametrize(
    ("name", "mode"),
    [case(name, ONE_MODE.get(name, NEXT_STEP)) for name in ADAPTERS if name != "custom"],
)
def test_18_4_adapters_raise_the_errors_of_the_contract(name, mode):
    with adapter(name, "CartPole-v1", mode) as envs:
        good = np.array([0, 1, 1])
        with pytest.raises(error.ResetNeeded):
            envs.step(good)
        for actions in BAD_ACTIONS:
            envs.reset(seed=1)
            with pytest.raises(error.Error):
                envs.step(actions)
        if not name.startswith("gym21"):
            for seed in BAD_SEEDS:
                with pytest.raises(error.Error):
                    envs.reset(seed=seed)
        envs.reset(seed=1)
        assert envs.step(good)[1].tolist() == [1, 1, 1]
        envs.close()
        for call in (lambda: envs.step(good), lambda: envs.reset(seed=1)):
            with pytest.raises(error.ClosedEnvironmentError):
                call()


def test_every_family_goes_every_way():
    cases = [case.values for case in native_cases()]
    assert {case[0] for case in cases} == set(ENDING_STATES)
    for env_id in set(ENDING_STATES) - {ARRAY_ID}:
        assert {way for id, way, _, _ in cases if id == env_id} == set(WAYS)
        assert {form for id, _, _, form in cases if id == env_id} == set(FORMS)
        assert len({mode for id, _, mode, _ in cases if id == env_id}) == 3
    assert ATARI_ID in ENDING_STATES
