"""Box2D in compiled code: batches, states, worlds changed by programs; and without Box2D."""

from __future__ import annotations

import gc
import itertools
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import gymcore
from gymcore import error
from tests.envs.box2d.pairs import random_actions

from gymcore.envs.box2d import (  # isort: skip
    BipedalWalker,
    bipedal_walker_python,
    box2d_env,
    library,
    lunar_lander_python,
)

IDS = (
    "LunarLander-v3",
    "LunarLanderContinuous-v3",
    "BipedalWalker-v3",
    "BipedalWalkerHardcore-v3",
)
PYTHON = {
    "LunarLander-v3": lunar_lander_python.LunarLander,
    "BipedalWalker-v3": bipedal_walker_python.BipedalWalker,
}

pytestmark = pytest.mark.skipif(library.problem() is not None, reason=str(library.problem()))


def make_vec(env_id: str, num_envs: int, **arguments: Any) -> Any:
    envs = gymcore.make_vec(env_id, num_envs, **arguments)
    assert envs.spec.kwargs["vectorization_mode"] == "vector_entry_point"
    envs.action_space.seed(1)
    return envs


def bytes_of(results: Any) -> list[bytes]:
    return [np.asarray(result).tobytes() for result in results[:4]]


@pytest.mark.parametrize("env_id", ["LunarLander-v3", "BipedalWalker-v3", "CarRacing-v3"])
def test_definitions_are_counted(env_id, monkeypatch):
    """Compiled code relies on the order in which Python lists them."""
    cls = type(gymcore.make(env_id).unwrapped)
    complete = cls._definitions
    monkeypatch.setattr(cls, "_definitions", lambda self: complete(self)[1:])
    with pytest.raises(ValueError, match="definitions: expected"):
        gymcore.make(env_id)


@pytest.mark.parametrize("mode", ["SameStep", "NextStep"])
@pytest.mark.parametrize("env_id", IDS)
def test_batches_of_any_size_and_threads_are_equal(env_id, mode):
    options = {"autoreset_mode": gymcore.vector.AutoresetMode(mode)}
    sync = gymcore.make_vec(env_id, 3, vectorization_mode="sync", vector_kwargs=options)
    one, many = (
        make_vec(env_id, n, vector_kwargs={**options, "num_threads": threads})
        for n, threads in ((3, 1), (7, 3))
    )
    seen = [envs.reset(seed=5)[0] for envs in (sync, one, many)]
    for step in range(160):
        actions = many.action_space.sample()
        results = [envs.step(actions[: envs.num_envs]) for envs in (sync, one, many)]
        expected = bytes_of(results[0])
        assert bytes_of(results[1]) == expected, step
        assert bytes_of([part[:3] for part in results[2][:4]]) == expected, step
    assert np.array_equal(seen[0], seen[1])
    for envs in (sync, one, many):
        envs.close()


@pytest.mark.parametrize("env_id", IDS)
def test_states_continue_to_the_bit_in_later_episodes(env_id):
    """Also if a walker's world has held other episodes, and in the episodes that follow."""
    envs = make_vec(env_id, 3, max_episode_steps=70)
    envs.reset(seed=2)
    for _ in range(150):
        envs.step(envs.action_space.sample())
    state = envs.get_state()
    actions = [envs.action_space.sample() for _ in range(160)]
    expected = [bytes_of(envs.step(action)) for action in actions]
    other = make_vec(env_id, 3, max_episode_steps=70)
    for into in (envs, other):
        into.set_state(state)
        np.testing.assert_array_equal(into.get_state(), state)
        assert [bytes_of(into.step(action)) for action in actions] == expected


def test_damaged_states():
    env = gymcore.make("BipedalWalker-v3").unwrapped
    env.reset(seed=1)
    state = env.get_state()
    damaged = state.copy()
    damaged["state"]["world"][0][300] ^= 1
    with pytest.raises(error.InvalidArgument, match="expected a state that lanes of"):
        env.set_state(damaged)
    np.testing.assert_array_equal(env.get_state(), state)


@pytest.mark.parametrize(
    ("env_id", "change"),
    [
        ("LunarLander-v3", lambda saved: saved["world"][0][:4].view("<i4").__setitem__(0, 2**20)),
        ("LunarLander-v3", lambda saved: saved["world"][0][4:8].view("<i4").__setitem__(0, 12345)),
        (
            "LunarLander-v3",
            lambda saved: saved["world"][0][16:20].view("<f4").__setitem__(0, np.nan),
        ),
        ("LunarLander-v3", lambda saved: saved["episode"]["steps"].__setitem__(0, -5)),
        ("LunarLander-v3", lambda saved: saved["episode"]["heights"].__setitem__((0, 3), np.inf)),
        (
            "BipedalWalker-v3",
            lambda saved: saved["episode"]["box_count"].__setitem__(0, 50_000_000),
        ),
        ("CarRacing-v3", lambda saved: saved["episode"]["draws"].__setitem__((0, 2), -1e300)),
        ("CarRacing-v3", lambda saved: saved["episode"]["tiles"].__setitem__(0, 2000)),
        ("CarRacing-v3", lambda saved: saved["episode"]["mark_counts"].__setitem__((0, 0), 31)),
    ],
)
def test_states_of_strangers(env_id, change):
    """Each value is checked before the lane changes."""
    env = gymcore.make(env_id).unwrapped
    env.reset(seed=1)
    state = env.get_state()
    changed = state.copy()
    change(changed["state"])
    assert not np.array_equal(changed.view(np.uint8), state.view(np.uint8))
    with pytest.raises(error.InvalidArgument, match="expected a state that lanes of"):
        env.set_state(changed)
    np.testing.assert_array_equal(env.get_state(), state)


def test_parameters_by_lane():
    envs = make_vec("LunarLander-v3", 3, gravity=[-2.0, -5.0, -11.0])
    envs.set_attr("enable_wind", [False, True, True])
    envs.set_attr("wind_power", [1.0, 10.0, 20.0])
    observations, _ = envs.reset(seed=7)
    singles = [
        gymcore.make("LunarLander-v3", gravity=g, enable_wind=w, wind_power=p)
        for g, w, p in ((-2.0, False, 1.0), (-5.0, True, 10.0), (-11.0, True, 20.0))
    ]
    for lane, env in enumerate(singles):
        assert env.reset(seed=7 + lane)[0].tobytes() == observations[lane].tobytes()
    for _ in range(60):
        observations = envs.step(np.full(3, 2))[0]
        for lane, env in enumerate(singles):
            assert env.step(2)[0].tobytes() == observations[lane].tobytes()
    with pytest.raises(error.FailedCheck, match="gravity"):
        envs.set_attr("gravity", 1.0)


@pytest.mark.parametrize("env_id", PYTHON)
def test_frames_and_attributes_equal_those_in_python(env_id):
    pytest.importorskip("pygame", reason="pygame is not installed")
    ours = gymcore.make(env_id, render_mode="rgb_array").unwrapped
    python = PYTHON[env_id](render_mode="rgb_array")
    random = np.random.default_rng(3)
    for env in (ours, python):
        env.reset(seed=6)
    for step in range(60):
        if step % 12 == 0:
            np.testing.assert_array_equal(ours.render(), python.render())
        action = random_actions(ours, None, random)
        assert ours.step(action)[0].tobytes() == python.step(action)[0].tobytes()
    feet = [[getattr(leg, "ground_contact", None) for leg in env.legs] for env in (ours, python)]
    assert feet[0] == feet[1]
    names = ["prev_shaping", "game_over"]
    of_lander, of_walker = ["wind_idx", "particles", "ground_y"], ["scroll", "terrain_y"]
    names += of_lander if "Lander" in env_id else of_walker
    for name in names:
        assert getattr(ours, name) == getattr(python, name), name
    envs = make_vec(env_id, 2, render_mode="rgb_array")
    envs.reset(seed=6)
    single = gymcore.make(env_id, render_mode="rgb_array")
    single.reset(seed=7)
    np.testing.assert_array_equal(envs.render()[1], single.render())


def test_the_packages_objects():
    env = gymcore.make("LunarLander-v3").unwrapped
    env.reset(seed=1)
    hull, leg = env.lander, env.legs[0]
    assert hull.position is not None
    assert env.lander is hull
    assert leg.joint.bodyA == hull
    hull.linearVelocity = (0.0, -7.0)
    while not leg.ground_contact:  # held from before
        env.step(0)
    other = gymcore.make("LunarLander-v3").unwrapped
    other.set_state(env.get_state())  # the state includes the changes
    assert other.step(2)[0].tobytes() == env.step(2)[0].tobytes()
    env.reset()
    assert env.lander is not hull
    assert not env.legs[0].ground_contact


@pytest.mark.parametrize("env_id", ["LunarLander-v3", "BipedalWalker-v3", "CarRacing-v3"])
def test_everything_of_a_world_can_be_looked_at(env_id):
    """The package needs the C++ type of the contact listener."""
    env = gymcore.make(env_id).unwrapped
    env.reset(seed=1)
    assert env.world.contactManager.contactListener is not None
    assert "contactManager=b2ContactManager(" in repr(env.world)
    env.step(env.action_space.sample())


def test_worlds_that_programs_change():
    env = gymcore.make("LunarLander-v3").unwrapped
    env.reset(seed=1)
    env.world.contactListener = lunar_lander_python.ContactDetector(env)
    with pytest.raises(error.Error, match="contactListener was replaced"):
        env.step(0)
    env.reset(seed=1)
    env.step(0)
    env.world.CreateDynamicBody(position=(3, 10)).CreateCircleFixture(radius=0.2, density=1.0)
    env.step(0)
    with pytest.raises(error.Error, match="other bodies"):
        env.get_state()
    env.reset(seed=1)
    env.get_state()


# Box2D would call each of these without the GIL, and crash if the world were stepped or emptied.
HOOKS = """
import sys
import gymcore as gym
from Box2D import b2ContactFilter, b2ContactListener, b2DestructionListener
from gymcore import error

class Filter(b2ContactFilter):
    def ShouldCollide(self, one, other):
        return True

class Destroyed(b2DestructionListener):
    def SayGoodbye(self, thing):
        pass

class Raises(b2ContactListener):
    def PreSolve(self, contact, manifold):
        raise RuntimeError("in the middle of a step")

def refused(call, *arguments):
    try:
        call(*arguments)
    except error.Error as problem:
        return "made anew" in str(problem) or isinstance(problem, error.ResetNeeded)

for first in (True, False):  # before the first reset too
    for hook in ("filter", "destroyed", "locked"):
        env = gym.make(sys.argv[1]).unwrapped
        if not first or hook == "locked" or env.world is None:
            env.reset(seed=1)
        if hook == "filter":
            env.world.contactFilter = Filter()
        elif hook == "destroyed":
            env.world.destructionListener = Destroyed()
        else:
            env.world.contactListener = Raises()
            try:
                for _ in range(500):
                    env.world.Step(0.02, 180, 60)
            except RuntimeError:
                pass
        if hook != "locked" or env.world.locked:
            assert refused(env.reset), hook
            assert refused(env.step, env.action_space.sample()), hook
        env.close()
print("done")
"""


@pytest.mark.slow
@pytest.mark.parametrize("env_id", ["LunarLander-v3", "BipedalWalker-v3", "CarRacing-v3"])
def test_box2d_calls_no_code_of_programs(env_id):
    command = [sys.executable, "-c", HOOKS, env_id]
    done = subprocess.run(command, capture_output=True, text=True, timeout=250)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


@pytest.mark.parametrize("env_id", ["LunarLander-v3", "BipedalWalker-v3", "CarRacing-v3"])
def test_a_joint_in_place_of_another_one(env_id):
    """It may have the old joint's address, but must not get its motor."""
    env = gymcore.make(env_id).unwrapped
    env.reset(seed=1)
    joint = env.world.joints[0]
    one, other = joint.bodyA, joint.bodyB
    env.world.DestroyJoint(joint)
    places = {"anchorA": one.position, "anchorB": other.position}
    env.world.CreateDistanceJoint(bodyA=one, bodyB=other, **places)
    with pytest.raises(error.Error, match="bodies or joints were destroyed"):
        env.step(env.action_space.sample())
    env.reset(seed=1)
    env.step(env.action_space.sample())


@pytest.mark.parametrize("part", ["legs", "joint", "hull"])
def test_destroyed_bodies(part):
    env = gymcore.make("BipedalWalker-v3").unwrapped
    env.reset(seed=1)
    if part == "joint":
        env.world.DestroyJoint(env.joints[0])
    else:
        env.world.DestroyBody(env.hull if part == "hull" else env.legs[2])
    with pytest.raises(error.Error, match="bodies or joints were destroyed"):
        env.step(np.zeros(4))
    observation, _ = env.reset(seed=1)
    env.fresh_worlds = True
    assert env.reset(seed=1)[0].tobytes() == observation.tobytes()


def test_subclasses():
    class Doubled(BipedalWalker):
        def step(self, action):
            observation, reward, *rest = super().step(action)
            return observation, 2.0 * reward, *rest

    env = Doubled()
    env.reset(seed=1)
    other = gymcore.make("BipedalWalker-v3").unwrapped
    other.reset(seed=1)
    action = np.full(4, 0.5, np.float32)
    assert env.step(action)[1] == 2.0 * other.step(action)[1] != 0.0


@pytest.mark.parametrize("env_id", ["LunarLander-v3", "BipedalWalker-v3", "CarRacing-v3"])
def test_worlds_are_freed_in_any_order(env_id):
    for order in itertools.permutations(range(4)):
        env = gymcore.make(env_id).unwrapped
        env.reset(seed=1)
        parts: list[Any] = [env, env.world, env.world.bodies[-1], env._batch]
        del env
        for number in order:
            parts[number] = None
            gc.collect(1)  # only new objects: a tenth of the time of a full collection
            if parts[1] is not None:
                parts[1].Step(0.02, 10, 10)
            elif parts[2] is not None and (parts[0] or parts[3]) is not None:
                assert np.isfinite(parts[2].position.y)


def run(program: str) -> Any:
    command = [sys.executable, "-W", "ignore", "-c", program]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


PROGRAM = """
import gc, os
import gymcore
kept = []
for env_id in ("LunarLander-v3", "BipedalWalkerHardcore-v3", "CarRacing-v3"):
    envs = gymcore.make_vec(env_id, 4, vector_kwargs={"num_threads": 2})
    env = gymcore.make(env_id)
    for one in (envs, env):
        one.reset(seed=1)
        one.step(one.action_space.sample())
    kept += [envs, env, env.unwrapped.world, env.unwrapped.world.bodies]
child = os.fork()
if child == 0:
    for one in kept[0:2] + kept[4:6] + kept[8:10]:
        one.step(one.action_space.sample())
    del kept[1], envs, env
    gc.collect()
    raise SystemExit(0)
assert os.waitpid(child, 0)[1] == 0
kept.append(kept)
"""


FORKS = """
import os, threading
import gymcore
for env_id, discrete in (("LunarLander-v3", True), ("BipedalWalker-v3", False)):
    envs = gymcore.make_vec(env_id, 128, vector_kwargs={"num_threads": 1})
    envs.reset(seed=1)
    actions = envs.action_space.sample()
    ends = threading.Event()
    def step():
        while not ends.is_set():
            envs.step(actions)
    stepping = threading.Thread(target=step, daemon=True)
    stepping.start()
    for _ in range(20):
        child = os.fork()
        if child == 0:
            envs.reset(seed=2)
            for _ in range(3):
                envs.step(actions)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
    ends.set()
    stepping.join()
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_children_forked_in_the_middle_of_a_step():
    ran = run(FORKS)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_forked_children_and_the_interpreters_exit():
    ran = run(PROGRAM)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_without_box2d(monkeypatch):
    monkeypatch.setitem(sys.modules, "Box2D", None)
    built = r"box2d-py` \(needs swig and a C\+\+ compiler\)"
    package = "box2d`" if sys.version_info < (3, 14) else built
    with pytest.raises(error.DependencyNotInstalled, match=f"run `pip install {package}$"):
        box2d_env.load_box2d()


def test_without_usable_functions(monkeypatch):
    gymcore.make("LunarLander-v3").close()  # its module chooses a class at import
    monkeypatch.setattr(library, "problem", lambda: "it is another one")
    with pytest.raises(error.DependencyNotInstalled, match="another one"):
        make_vec("LunarLander-v3", 2, vectorization_mode="native")
    with pytest.raises(error.DependencyNotInstalled, match="another one"):
        gymcore.make("LunarLander-v3")


WITHOUT_A_FUNCTION = """
from gymcore_ext.box2d import worlds
worlds.SYMBOLS["step"] = "_ZN7b2World5LeaapEv"
"""

# Its structures may have any layout: they are never read.
ANOTHER_RELEASE = """
import Box2D
from gymcore_ext.box2d import worlds
Box2D.__version__ = "2.4.1"
worlds.read_members = worlds.step_and_save = None
"""

PYTHON_INSTEAD = """
import gymcore
from gymcore.cli.info import system_info
print(type(gymcore.make("LunarLander-v3").unwrapped).__module__)
print(type(gymcore.make("BipedalWalker-v3").unwrapped).__module__)
print(type(gymcore.make("CarRacing-v3").unwrapped).__module__)
print(type(gymcore.make_vec("LunarLander-v3", 2)).__name__)
print(type(gymcore.vector.make("LunarLander-v3", 2).unwrapped).__name__)
print(system_info()["Box2D"])
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "reason"),
    [
        (WITHOUT_A_FUNCTION, "it has no _ZN7b2World5LeaapEv"),
        (ANOTHER_RELEASE, "its version is 2.4.1"),
    ],
)
def test_python_runs_instead(program, reason):
    ran = run(program + PYTHON_INSTEAD)
    lines = ran.stdout.splitlines()
    assert lines[:3] == [
        "gymcore.envs.box2d.lunar_lander_python",
        "gymcore.envs.box2d.bipedal_walker_python",
        "gymcore.envs.box2d.car_racing_python",
    ], ran.stderr
    assert lines[3:5] == ["SyncVectorEnv"] * 2
    assert reason in lines[5]


@pytest.mark.soak
@pytest.mark.timeout(3000)
def test_memory_stays_flat():
    def resident() -> int:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1])

    envs = make_vec("LunarLander-v3", 64)
    envs.reset(seed=1)
    actions = [envs.action_space.sample() for _ in range(100)]
    counts = []
    for _ in range(10):
        for action in actions * 156:
            envs.step(action)
        counts.append(resident())
    assert max(counts[3:]) - counts[2] < 256  # pages
