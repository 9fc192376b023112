"""`gymcore.jit` with Numba: the same bits as the interpreter, and a cache of the code."""

from __future__ import annotations

import copy
import importlib.util
import math
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gymcore import error, jit, spaces
from gymcore.vector import AutoresetMode
from tests.build.test_examples import ROOT
from tests.jit.classes import CLASSES, Arm, CartPole, Errand, Everything
from tests.testing_env import assert_same

pytestmark = pytest.mark.slow

numba = pytest.importorskip("numba")


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Yield a separate folder for compiled code."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("jit")
        patch.setenv("GYMCORE_CACHE_DIR", str(folder))
        patch.delenv("GYMCORE_JIT", raising=False)
        yield folder


def examples() -> list[Any]:
    """Return the environments in examples/."""
    found = []
    for name in ("Navigation", "Snake", "Pursuit"):
        path = ROOT / "examples" / f"jit_{name.lower()}.py"
        spec: Any = importlib.util.spec_from_file_location(path.stem, path)
        module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        found.append(getattr(module, name))
    return found


@pytest.mark.parametrize("cls", [*CLASSES, *examples()])
@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_compiled_is_interpreted(cls: Any, mode: str) -> None:
    options: dict[str, Any] = {"autoreset_mode": mode, "max_episode_steps": 30}
    ours = cls.vector_class(5, num_threads=2, **options)
    theirs = cls.vector_class(5, debug=True, **options)
    single = cls()
    assert_same(ours.reset(seed=3), theirs.reset(seed=3))
    single.reset(seed=3)
    ours.action_space.seed(1)
    alive = True
    for step in range(50):
        actions = ours.action_space.sample()
        one, other = ours.step(actions), theirs.step(actions)
        assert_same(one, other, f"step {step}")
        if alive:
            result = single.step(actions[0])
            assert (one[1][0], one[2][0]) == result[1:3]
            alive = not (one[2][0] or one[3][0])
            assert result[3] <= one[3][0]  # the batch has a time limit
        assert ours.get_state().tobytes() == theirs.get_state().tobytes()


def test_parameters_by_lane_and_copies() -> None:
    ours, theirs = Everything.vector_class(4), Everything.vector_class(4, debug=True)
    for envs in (ours, theirs):
        envs.set_attr("scale", [0.1, 0.2, 0.3, 0.4])
        envs.set_attr("noisy", [True, False, True, False])
        envs.reset(seed=1)
    ours = copy.deepcopy(ours)
    ours.action_space.seed(1)
    for _ in range(20):
        actions = ours.action_space.sample()
        assert_same(ours.step(actions), theirs.step(actions))


def test_options_of_a_reset() -> None:
    ours, theirs = Errand.vector_class(3), Errand.vector_class(3, debug=True)
    options = {"low": 0.25, "fuel": 3, "tired": True}
    assert_same(ours.reset(seed=1, options=options), theirs.reset(seed=1, options=options))
    assert_same(again := ours.reset(options=options), theirs.reset(options=options))
    assert (again[0][:, 1] == 3).all()
    for _ in range(5):  # episodes begun by autoreset have the defaults
        assert_same(one := ours.step(np.ones(3, np.int64)), theirs.step(np.ones(3, np.int64)))
    assert (one[0][:, 1] > 3).all()


def test_large_batches_on_many_threads() -> None:
    one, two = (CartPole.vector_class(5000, num_threads=k) for k in (1, 3))
    actions = np.random.default_rng(1).integers(0, 2, (30, 5000))
    one.reset(seed=1), two.reset(seed=1)
    assert_same(tuple(one.rollout(actions)), tuple(two.rollout(actions)))


def test_mathematics_has_the_bits_of_the_kernels() -> None:
    from gymcore.jit import compiler  # noqa: F401 (registers the functions)
    from tests.ext import array_math

    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(0, 3, 2000), rng.uniform(-1e6, 1e6, 2000), [0.0, -0.0, 1e-9]])

    @numba.njit(error_model="numpy")
    def compiled(x: Any, out: Any) -> None:
        for i in range(len(x)):
            out[0, i], out[1, i] = jit.math.sincos(x[i])
            out[2, i] = jit.math.mod_two_pi(x[i])
            out[3, i] = jit.math.floor(x[i])
            out[4, i] = jit.math.clip(x[i], -2.0, 1.0)

    out = np.empty((5, len(x)))
    compiled(x, out)
    interpreted = [
        [
            *jit.math.sincos(v),
            jit.math.mod_two_pi(v),
            jit.math.floor(v),
            jit.math.clip(v, -2.0, 1.0),
        ]
        for v in x.tolist()
    ]
    expected = [
        *array_math.sincos(x),
        array_math.mod_two_pi(x),
        np.floor(x) + 0.0,
        np.clip(x, -2.0, 1.0),
    ]
    for row, one, other in zip(out, np.array(interpreted).T, expected, strict=True):
        assert row.tobytes() == one.tobytes() == other.tobytes()


class Draws(jit.Env):
    observation_space = Arm.observation_space
    action_space = CartPole.action_space

    class State:
        drawn: jit.array(float, 12)

    def reset(state, parameters, rng):
        state.drawn[0] = rng.random()
        state.drawn[1] = rng.integers(10)
        state.drawn[2] = rng.integers(-5, 2**40)
        state.drawn[3] = rng.integers(-(2**31), 2**31)
        state.drawn[4] = rng.normal()
        state.drawn[5] = rng.normal(3.0, 0.5)
        state.drawn[6] = rng.uniform()
        state.drawn[7] = rng.uniform(-2.0, 7.0)
        state.drawn[8] = rng.choice(7)
        state.drawn[9] = rng.integers(3)
        state.drawn[10] = rng.integers(4, 5)
        state.drawn[11] = rng.integers(0, 2**62)

    def step(state, parameters, action, rng):
        return 0.0, False

    def observe(state, parameters, observation):
        observation[0][:] = 0.0
        observation[1][0] = 0


def test_draws_are_those_of_numpy() -> None:
    envs = Draws.vector_class(500)
    envs.reset(seed=11)
    for lane in range(500):
        rng = np.random.default_rng(11 + lane)
        expected = [
            *(rng.random(), rng.integers(10), rng.integers(-5, 2**40)),
            *(rng.integers(-(2**31), 2**31), rng.normal(), rng.normal(3.0, 0.5), rng.uniform()),
            *(rng.uniform(-2.0, 7.0), rng.choice(7), rng.integers(3), rng.integers(4, 5)),
            rng.integers(0, 2**62),
        ]
        assert envs._batch.store.fields[0][lane].tolist() == [float(x) for x in expected]


def test_code_comes_from_the_cache(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from gymcore.jit import compiler, env

    # Another module may have compiled it into a cache of its own.
    vars(env._kernel_of(CartPole)).pop("compiled", None)
    CartPole()
    files = {path.name: path.stat().st_mtime_ns for path in cache.iterdir()}
    del env._kernel_of(CartPole).compiled
    monkeypatch.setattr(compiler, "_compile", None)  # not called again
    CartPole().reset(seed=1)
    assert {path.name: path.stat().st_mtime_ns for path in cache.iterdir()} == files


PROGRAM = """
import numpy as np, sys
from gymcore import jit, spaces
K = {constant}
class Same(jit.Env):
    observation_space = spaces.Box(-9, 9, (1,), np.float32)
    action_space = spaces.Discrete(2)
    class State:
        x: float
    def reset(state, parameters, rng):
        state.x = 0.0
    def step(state, parameters, action, rng):
        state.x += helper(action)
        return state.x, False
    def observe(state, parameters, observation):
        observation[0] = state.x
def helper(action):
    {body}
"""


def test_classes_of_the_same_name_are_different(tmp_path: Path) -> None:
    """They are compiled in separate processes, and loaded into one."""
    versions = [(1.0, "return K"), (2.0, "return K"), (2.0, "return K + action")]
    for k, (constant, body) in enumerate(versions):
        text = PROGRAM.format(constant=constant, body=body)
        (tmp_path / f"same{k}.py").write_text(text)
    code = "import {0}; e = {0}.Same(); e.reset(seed=1); print(e.step(1)[1])"
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    for k in range(3):
        subprocess.run(
            [sys.executable, "-c", code.format(f"same{k}")],
            check=True,
            env={**os.environ, "PYTHONPATH": path},
        )
    both = "".join(f"import same{k}; e{k} = same{k}.Same(); e{k}.reset(seed=1)\n" for k in range(3))
    both += "print(*[e.step(1)[1] for e in (e0, e1, e2)])"
    run = subprocess.run(
        [sys.executable, "-c", both],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert run.stdout.split() == ["1.0", "2.0", "3.0"]


def test_threads_may_make_environments_at_once() -> None:
    results: list[Any] = []

    def run() -> None:
        env = Arm()
        env.reset(seed=1)
        results.append(env.step(np.ones((2, 2), np.float32))[1])

    threads = [threading.Thread(target=run) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert len(set(results)) == 1 and len(results) == 4 and math.isfinite(results[0])


class Leaves(jit.Env):
    """Environment that writes past an array from the 30th step on."""

    observation_space = Arm.observation_space
    action_space = CartPole.action_space

    class State:
        steps: int
        seen: jit.array(bool, 30)

    def reset(state, parameters, rng):
        state.steps = 0

    def step(state, parameters, action, rng):
        state.seen[state.steps] = True
        state.steps += 1
        return 0.0, False

    def observe(state, parameters, observation):
        observation[0][:] = 0.0
        observation[1][0] = 0


def test_an_index_out_of_range_raises() -> None:
    envs = Leaves.vector_class(2)
    envs.reset(seed=1)
    for _ in range(30):
        envs.step([0, 1])
    with pytest.raises(IndexError, match="environment 0 raised IndexError in step"):
        envs.step([0, 1])


def pair(state):
    return (state.row[1], 7)


class Indices(jit.Env):
    """Environment in which each action uses an index in another way."""

    observation_space = spaces.Box(-np.inf, np.inf, (2,), np.float64)
    action_space = spaces.Discrete(14)

    class State:
        row: jit.array(float, 4)
        grid: jit.array(float, 4, 3)
        places: jit.array(int, 4)

    class Parameters:
        index: int = 0

    def reset(state, parameters, rng):
        state.row[:] = 1.0
        state.grid[:] = 2.0

    def step(state, parameters, action, rng):
        i, value = parameters.index, 0.0
        state.places[:] = i
        if action == 0:
            value = state.grid[0, i] + state.row[i]
        elif action == 1:
            state.grid[i, 0] += 1.0
        elif action == 2:
            state.grid[:, i] = 3.0
        elif action == 3:
            value = state.row[state.places].sum()
        elif action == 4:
            state.row[state.places] = 4.0
        elif action == 5:
            state.grid[state.places, 0] += 1.0
        elif action == 6:
            value = state.grid.flat[i]
        elif action == 7:
            state.grid.flat[i] = 5.0
        elif action == 8:
            state.grid.flat[state.places] = 6.0
        elif action == 9:
            value = np.delete(state.row, state.places)[0]
        elif action == 10:
            value = np.take_along_axis(state.grid, state.places.reshape(4, 1), 1)[0, 0]
        elif action == 11:
            value = np.take(state.row, i) + state.row[:i][-1] if i > 0 else 0.0
        elif action == 12:
            state.row[state.places[0]], state.grid[0, state.places[1]] = pair(state)
        else:
            state.row[i], state.row[0] = state.row[0], state.row[i]
        return value, False

    def observe(state, parameters, observation):
        observation[0] = state.row.sum()
        observation[1] = state.grid.sum()


@pytest.mark.parametrize("debug", [False, True])
def test_every_use_of_an_index_out_of_range_raises(debug: bool) -> None:
    inside, outside = Indices(index=2, debug=debug), Indices(index=1000, debug=debug)
    inside.reset(seed=1)
    for action in range(14):
        inside.step(action)
        outside.reset(seed=1)
        with pytest.raises(IndexError):
            outside.step(action)


def test_indices_may_be_left_unchecked() -> None:
    class Unchecked(Indices):
        check_indices = False

    env, checked = Unchecked(index=2), Indices(index=2)
    for each in (env, checked):
        each.reset(seed=1)
    for action in range(14):
        np.testing.assert_equal(env.step(action), checked.step(action))


class Rows(jit.Env):
    """Environment that assigns numbers of several types to parts of arrays."""

    observation_space = spaces.Box(-np.inf, np.inf, (4,), np.float64)
    action_space = spaces.Discrete(4)

    class State:
        row: jit.array(float, 4)
        grid: jit.array(float, 2, 3)

    class Parameters:
        stop: int = 3

    def reset(state, parameters, rng):
        state.row[:] = 0.0

    def step(state, parameters, action, rng):
        if action == 0:
            state.row[1 : parameters.stop] = 1, 2.5
        elif action == 1:
            state.grid[1, : parameters.stop - 1] = state.row[1], 3
        elif action == 2:
            state.grid[0] = 1, 0.5, 2
        else:
            row = state.row[: parameters.stop - 1]
            row[:] = 4, 1.5
        return state.grid.sum(), False

    def observe(state, parameters, observation):
        observation[:] = state.row


def test_numbers_of_several_types_are_assigned_to_parts() -> None:
    ours, theirs = Rows(), Rows(debug=True)
    for env in (ours, theirs):
        env.reset(seed=1)
    for action in (0, 1, 2, 3):
        np.testing.assert_equal(ours.step(action), theirs.step(action))
    ours.stop = 4
    for action in (0, 1, 3):
        ours.reset(seed=1)
        with pytest.raises(ValueError, match="of the same length"):
            ours.step(action)


def test_all_modes_are_there() -> None:
    assert {mode.value for mode in AutoresetMode} == {"NextStep", "SameStep", "Disabled"}


class Copying(CartPole):
    def observe(state, parameters, observation):
        observation[:] = np.fft.fft(np.ones(4)).real


class Indexing(CartPole):
    def step(state, parameters, action, rng):
        if action == 5:
            state.x = np.zeros(3)[0][1]
        return 1.0, False


def gcd(a, b):
    return a if b == 0 else gcd(b, a % b)


class Recursive(CartPole):
    def step(state, parameters, action, rng):
        state.x = gcd(action + 8, 6)
        return 1.0, False


def test_functions_that_call_themselves_are_refused() -> None:
    message = r"test_compiled\.py:\d+: gcd: a function that calls itself cannot be compiled"
    with pytest.raises(error.InvalidArgument, match=message):
        Recursive()
    assert Recursive(debug=True).reset(seed=1)


class Inverting(CartPole):
    def step(state, parameters, action, rng):
        return 1.0, ~(state.x > 9.0) == 3


@pytest.mark.filterwarnings("ignore:Bitwise inversion:DeprecationWarning")  # from Python 3.12 on
@pytest.mark.parametrize(
    "cls, reason",
    [
        *[(Copying, r"\w+"), (Indexing, r".*getitem.* getitem\(float64, .*\(1\)\)")],
        (Inverting, "TypingError: `~` of a bool"),
    ],
)
def test_what_numba_cannot_compile_is_one_line(cls: Any, reason: str) -> None:
    expected = rf"test_compiled\.py:\d+: {cls.__name__} cannot be compiled: {reason}"
    with pytest.raises(error.InvalidArgument, match=expected) as caught:
        cls()
    assert len(str(caught.value)) < 300
    assert cls(debug=True).reset(seed=1)
