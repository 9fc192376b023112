"""`gymcore.alias`: unchanged programs, each in a process of its own."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from types import ModuleType

import numpy as np
import pytest

import gymcore.alias
from gymcore import error
from gymcore.alias.__main__ import main
from tests.alias.running import PATHS, ROOT, lines, run

pytestmark = pytest.mark.slow

PROGRAM = """
import os, sys
import gymnasium as gym
import gymnasium.envs.classic_control.cartpole as cartpole
from gymnasium import *
from gymnasium.spaces.box import Box
from gymnasium.wrappers.vector import RecordEpisodeStatistics
import gymcore

print(sys.argv[1:], os.path.basename(sys.argv[0]), os.path.basename(__file__), __name__)
print(gym.__version__, os.path.dirname(__file__) in sys.path)
assert gym.Env is gymcore.Env is Env and isinstance(gym.make("CartPole-v1"), gymcore.Env)
assert gym.spaces is sys.modules["gymnasium.spaces"] is gymcore.spaces is spaces
assert Box is gym.spaces.Box and issubclass(Box, gym.Space)
assert cartpole.CartPoleEnv is gymcore.envs.classic_control.CartPoleEnv
assert gym.utils.passive_env_checker.check_obs and gym.vector.async_vector_env.AsyncState
assert gym.envs.registration.registry is gymcore.registry
assert "make_vec" in dir(gym) and cartpole.__spec__.name.startswith("gymcore.")
for name in ("gymnasium.nothing", "gymnasium.nothing.below"):
    try:
        __import__(name)
    except ModuleNotFoundError as problem:
        assert problem.name == "gymnasium.nothing"
import gym as older
assert older.__version__ == "0.26.2" and older.Env is gym.Env
assert older.make("CartPole-v1").gravity == 9.8
"""


MESSAGES = """
import warnings
import gymnasium as gym
from gymnasium.utils import env_checker, passive_env_checker
from gymnasium.vector import utils

class Old(gym.Env):
    action_space = observation_space = gym.spaces.Discrete(2)
    def reset(self): return 0, {}
    def step(self, action): return 0, 0.0, False, False, {}
    def seed(self, seed): pass

calls = {
    "Wrapper": lambda: gym.Wrapper(3),
    "VectorWrapper": lambda: gym.vector.VectorWrapper(3),
    "Tuple": lambda: gym.spaces.Tuple([3]),
    "OneOf": lambda: gym.spaces.OneOf([3]),
    "Dict": lambda: gym.spaces.Dict(a=gym.spaces.Discrete(2)).__setitem__("a", 3),
    "batch_space": lambda: utils.batch_space(3),
    "concatenate": lambda: utils.concatenate(3, [], None),
    "create_empty_array": lambda: utils.create_empty_array(3),
    "create_shared_memory": lambda: utils.create_shared_memory(3),
    "check_action_space": lambda: passive_env_checker.check_action_space(3),
    "reset": lambda: passive_env_checker.env_reset_passive_checker(Old()),
    "seed": lambda: env_checker.check_seed_deprecation(Old()),
    "check_env": lambda: env_checker.check_env(3),
    "PassiveEnvChecker": lambda: gym.wrappers.PassiveEnvChecker(gym.Env()),
    "wrappers": lambda: gym.wrappers.Nothing,
    "vector wrappers": lambda: gym.wrappers.vector.Nothing,
}
for name, call in calls.items():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            call()
        except Exception as problem:
            print(name, problem)
    print(*(warning.message for warning in caught))
"""


def test_messages_name_the_package_that_the_program_imports(tmp_path: Path) -> None:
    ours = lines(tmp_path, MESSAGES)
    theirs = subprocess.check_output(
        [sys.executable, str(tmp_path / "program.py")], text=True, cwd=tmp_path
    )
    assert "`gymnasium.Env`" in theirs
    assert ours == theirs.splitlines()


def test_a_program_gets_gymcore(tmp_path: Path) -> None:
    assert lines(tmp_path, PROGRAM, "--as", "x", "-m") == [
        "['--as', 'x', '-m'] program.py program.py __main__",
        "1.4.0 True",
    ]
    assert lines(tmp_path, PROGRAM, "7", options=("-m",)) == [
        "['7'] program.py program.py __main__",
        "1.4.0 True",
    ]


def test_what_is_installed_need_not_be(tmp_path: Path) -> None:
    """Run without site packages, except for gymcore's own requirements."""
    library = tmp_path / "library"
    library.mkdir()
    for path in Path(np.__file__).parents[1].iterdir():
        if not path.name.startswith(("gymnasium", "gym", "__editable__")):
            (library / path.name).symlink_to(path)
    program = "import sys, gymnasium; print(gymnasium.make('CartPole-v1').reset(seed=1)[0].shape)"
    (tmp_path / "program.py").write_text(program)
    paths = os.pathsep.join([str(ROOT), str(library)])
    result = subprocess.run(
        [sys.executable, "-S", "-m", "gymcore.alias", "program.py"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": paths},
        cwd=tmp_path,
    )
    assert (result.stdout, result.returncode) == ("(4,)\n", 0), result.stderr


CHILDREN = """
import multiprocessing, subprocess, sys
import gymnasium

class Own(gymnasium.Env):
    action_space = observation_space = gymnasium.spaces.Discrete(3)
    def reset(self, *, seed=None, options=None):
        return 1, {}

def child(env, results):
    import gymnasium.vector
    results.put((gymnasium.__version__, isinstance(env, gymnasium.Env), env.reset()))

if __name__ == "__main__":
    for method in multiprocessing.get_all_start_methods():  # fork, spawn, forkserver
        context = multiprocessing.get_context(method)
        results = context.SimpleQueue()
        process = context.Process(target=child, args=(Own(), results))
        process.start()
        print(*results.get())
        process.join()
    code = "import gymnasium; print(gymnasium.__version__, gymnasium.Env.__module__)"
    print(subprocess.check_output([sys.executable, "-c", code], text=True), end="")
    envs = gymnasium.vector.AsyncVectorEnv([Own] * 2, context="spawn", num_workers=1)
    print(envs.reset()[0].tolist())
    envs.close()
"""


def test_child_processes_get_it_too(tmp_path: Path) -> None:
    count = len(multiprocessing.get_all_start_methods())
    assert lines(tmp_path, CHILDREN) == [
        *["1.4.0 True (1, {})"] * count,
        "1.4.0 gymnasium.core",
        "[1, 1]",
    ]


SPACES = """
[
    Box(-1.0, np.array([1.0, np.inf], np.float32), seed=3),
    Box(0, 255, (4, 4, 3), np.uint8),
    Discrete(3, seed=1, start=2),
    MultiDiscrete([2, 3], seed=1),
    MultiBinary(4, seed=2),
    Text(5, seed=3),
    Tuple((Box(-1, 1, (2,)), Discrete(2)), seed=4),
    Dict(a=Box(-1, 1, (2,)), b=Discrete(3), seed=4),
    Graph(Box(-1, 1, (2,)), Discrete(2), seed=5),
    Sequence(Discrete(2), seed=6, stack=True),
    OneOf((Discrete(2), Box(-1, 1, (2,))), seed=4),
    batch_space(Box(0, 255, (4, 4, 3), np.uint8, seed=7), 3),
]
"""
PICKLE = f"""
import pickle, sys
import cloudpickle
import numpy as np
from gymnasium.spaces import *
from gymnasium.vector.utils import batch_space
spaces = {SPACES.strip()}
with open(sys.argv[1], "rb") as file:
    theirs = pickle.load(file)
for ours, their in zip(spaces, theirs):
    assert type(ours) is type(their) and ours == their and repr(ours) == repr(their)
    assert str(ours.sample()) == str(their.sample()) or ours.shape == (4, 4, 3)
assert b"gymcore" not in pickle.dumps(spaces) + cloudpickle.dumps(spaces)
with open(sys.argv[1], "wb") as file:
    pickle.dump(spaces, file)
"""


def test_spaces_are_pickled_under_the_names_of_gymnasium(tmp_path: Path) -> None:
    gymnasium = pytest.importorskip("gymnasium", "1.4")  # earlier versions sample differently
    names = {**vars(gymnasium.spaces), "np": np, "batch_space": gymnasium.vector.utils.batch_space}
    spaces = eval(SPACES.strip(), names)
    file = tmp_path / "spaces.pickle"
    file.write_bytes(pickle.dumps(spaces))
    lines(tmp_path, PICKLE, str(file))
    for ours, theirs in zip(pickle.loads(file.read_bytes()), spaces, strict=True):
        theirs.sample()
        assert type(ours) is type(theirs) and ours == theirs and repr(ours) == repr(theirs)
        assert str(ours.sample()) == str(theirs.sample()) or ours.shape == (4, 4, 3)
    assert gymcore.spaces.Box.__module__ == "gymcore.spaces.box"


PLACES = """
import gymnasium as gym
from gymnasium.envs.registration import EnvSpec

assert not [s.id for s in gym.registry.values() if str(s.entry_point).startswith("gymcore")]
env = gym.wrappers.TimeAwareObservation(gym.make("CartPole-v1"))
text = env.spec.to_json()
again = gym.make(EnvSpec.from_json(text))
assert "gymcore" not in text and again.spec == env.spec and str(again) == str(env)
print(env.spec.pprint(disable_print=True, include_entry_points=True))
print(gym.pprint_registry({"CartPole-v1": gym.spec("CartPole-v1")}, disable_print=True))
"""


def test_specs_name_places_in_gymnasium(tmp_path: Path) -> None:
    gymnasium = pytest.importorskip("gymnasium")
    spec = gymnasium.wrappers.TimeAwareObservation(gymnasium.make("CartPole-v1")).spec
    assert spec is not None
    printed = spec.pprint(disable_print=True, include_entry_points=True)
    assert lines(tmp_path, PLACES) == [
        *printed.splitlines(),
        "===== classic_control =====",
        "CartPole-v1",
    ]


GAMES = """
import warnings
with warnings.catch_warnings(record=True) as caught:
    import gymnasium
    import ale_py
    gymnasium.register_envs(ale_py)
assert not caught, caught[0]
print(*{gymnasium.spec(name).entry_point for name in ("ALE/Pong-v5", "Pong-v4")})
envs = gymnasium.make_vec("ALE/Pong-v5", 4, batch_size=2)
observations, infos = envs.reset(seed=1)
print(type(envs) is ale_py.AtariVectorEnv, len(observations), sorted(infos)[0])
"""


def test_games_stay_compiled_when_ale_py_registers_them(tmp_path: Path) -> None:
    pytest.importorskip("ale_py")
    assert lines(tmp_path, GAMES) == [
        "gymnasium.envs.atari.atari_env:AtariEnv",
        "True 2 env_id",
    ]


GAMES_WITHOUT_IMPORT = """
import sys
import gymnasium
classes = []
for _ in range(2):
    with gymnasium.make_vec("ALE/Pong-v5", 1) as envs:
        classes.append(type(envs).__module__)
print("ale_py" in sys.modules, *classes)
"""


def test_batches_of_games_have_one_class_if_only_gymcore_imports_ale_py(tmp_path: Path) -> None:
    pytest.importorskip("ale_py")
    own = "gymnasium.envs.atari.vector_env"
    assert lines(tmp_path, GAMES_WITHOUT_IMPORT) == [f"True {own} {own}"]


MODULES_OF_CLASSES = """
import pickle, sys
for package in sys.argv[1:]:
    __import__(package)
gymnasium = sys.modules["gymnasium"]
vector, wrappers = gymnasium.vector, gymnasium.wrappers.vector
classes = vector.VectorEnv, vector.SyncVectorEnv, wrappers.ClipReward
assert all(pickle.loads(pickle.dumps(cls)) is cls for cls in classes)
print(*{cls.__module__.partition(".")[0] for cls in classes})
"""


@pytest.mark.parametrize("packages", [("gym", "gymnasium"), ("gymnasium", "gym")], ids="-".join)
def test_vector_classes_have_gymnasiums_modules_in_any_order_of_imports(tmp_path, packages) -> None:
    assert lines(tmp_path, MODULES_OF_CLASSES, *packages) == ["gymnasium"]


GYMNASIUM_029 = """
import gymnasium as gym
import gymnasium.experimental
from gymnasium.envs.registration import load_env_creator, make_vec, register
from gymnasium.vector import SyncVectorEnv, VectorEnv, VectorEnvWrapper
from gymnasium.vector.vector_env import VectorEnv as same
from gymnasium.wrappers import FrameStack, GrayScaleObservation, RecordEpisodeStatistics
from gymnasium.wrappers.frame_stack import LazyFrames
from gymnasium.wrappers.monitoring.video_recorder import VideoRecorder
from gymnasium.wrappers.normalize import NormalizeReward, RunningMeanStd
from gymnasium.wrappers.record_episode_statistics import RecordEpisodeStatistics as moved
import gymcore.compat.gymnasium029 as era

assert era.wrappers.RecordEpisodeStatistics is RecordEpisodeStatistics is moved
assert issubclass(VectorEnv, gym.Env) and same is VectorEnv and gym.Wrapper is era.Wrapper
print(gym.__version__, "Plug-v0" in gym.envs.registry, "here/Plug-v0" in gym.envs.registry)
print("ALE/Pong-v5" in gym.registry, gym.make("CartPole-v1").gravity, gym.make("Plug-v0").reset())
"""
GYM_026 = """
import gym
import gym.vector.async_vector_env
from gym.wrappers.monitoring.video_recorder import VideoRecorder
from gym.wrappers.time_limit import TimeLimit
from gym.utils.play import play
print(gym.__version__, gym.wrappers.TimeLimit is TimeLimit, gym.vector.make("CartPole-v1", 2))
import gymnasium
print(gymnasium.__version__)
"""
GYM_021 = """
import gym
from gym.utils import seeding
from gym.vector.sync_vector_env import SyncVectorEnv
import gym.wrappers.time_limit
from gym.wrappers.monitor import Monitor
env = gym.make("CartPole-v1")
print(gym.__version__, env.seed(3), env.reset().shape, len(env.step(0)))
print(isinstance(gym.wrappers.TimeLimit(env, 3), gym.wrappers.time_limit.TimeLimit))
"""
PLUGIN = """
import gymnasium
from gymnasium import spaces

class Plug(gymnasium.Env):
    action_space = observation_space = spaces.Discrete(3)
    def reset(self, *, seed=None, options=None):
        return 1, {}

def register():
    gymnasium.register("Plug-v0", entry_point=Plug, order_enforce=False, disable_env_checker=True)

def broken():
    raise ValueError("cannot")
"""


def test_eras(tmp_path: Path) -> None:
    (tmp_path / "plugs.py").write_text(PLUGIN)
    metadata = tmp_path / "plugs-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: plugs\nVersion: 1.0\n")
    points = "__root__ = plugs:register\nhere = plugs:register\nlater = plugs:broken\n"
    (metadata / "entry_points.txt").write_text(f"[gymnasium.envs]\n{points}")
    result = run(tmp_path, GYMNASIUM_029, options=("--as", "gymnasium==0.29"))
    assert result.stdout.splitlines() == ["0.29.1 True True", "True 9.8 (1, {})"], result.stderr
    assert "plugs:broken raised ValueError('cannot')" in result.stderr
    assert lines(tmp_path, GYM_026, options=("--as", "gym==0.26")) == [
        "0.26.2 True <Gym26NativeVectorEnv, CartPoleVectorEnv(CartPole-v1, num_envs=2)>",
        "1.4.0",
    ]
    assert lines(tmp_path, GYM_021, options=("--as", "gym==0.21")) == [
        "0.21.0 [3] (4,) 4",
        "True",
    ]


CHAINS = """
import sys
package = __import__(sys.argv[1])
for chain in sys.argv[2:]:
    found = package
    for name in chain.split("."):
        found = getattr(found, name)
print(package.__name__)
"""
CHAINS_OF_ALL = ("utils.seeding.np_random", "utils.passive_env_checker.check_obs", "spaces.box.Box")
CHAINS_OF_ERAS = (
    *CHAINS_OF_ALL,
    "error.Unregistered",
    "logger.setLevel",
    "logger.debug",
    "envs.registration.find_highest_version",
    "vector.async_vector_env.AsyncVectorEnv",
    "vector.utils.numpy_utils.concatenate",
    "vector.utils.spaces.batch_space",
    "vector.vector_env.VectorEnvWrapper",
    "wrappers.frame_stack.LazyFrames",
    "wrappers.monitoring.video_recorder.VideoRecorder",
    "wrappers.normalize.RunningMeanStd",
    "wrappers.record_video.capped_cubic_video_schedule",
    "wrappers.time_limit.TimeLimit",
)


@pytest.mark.parametrize(
    "era, chains",
    [
        ("gymnasium==1.4", CHAINS_OF_ALL),
        ("gymnasium==0.29", (*CHAINS_OF_ERAS, "register_envs")),
        ("gym==0.26", (*CHAINS_OF_ERAS, "version.VERSION")),
    ],
)
def test_attributes_that_need_no_import(era: str, chains: tuple[str, ...], tmp_path: Path) -> None:
    package = era.partition("==")[0]
    assert lines(tmp_path, CHAINS, package, *chains, options=("--as", era)) == [package]


MODULES = """
import pickle
import gymnasium as gym
from gymnasium.core import Env, Wrapper

class Own(Wrapper):
    def __init__(self):
        super().__init__(gym.make("CartPole-v1"))

class OwnVector(gym.vector.VectorEnv):
    pass

envs = gym.make_vec("CartPole-v1", 2) if gym.__version__ == "1.4.0" else None
for cls in (Own, OwnVector, type(gym.make("CartPole-v1")), *([type(envs)] if envs else [])):
    assert any(base.__module__.startswith("gymnasium.") for base in cls.__bases__), cls
for cls in (gym.Env, gym.Wrapper, gym.ActionWrapper, gym.vector.VectorEnv, type(envs)):
    assert pickle.loads(pickle.dumps(cls)) is cls
assert gym.Env is Env and gym.Wrapper is Wrapper
print("bases")
"""


@pytest.mark.parametrize("era", ["gymnasium==1.4", "gymnasium==0.29"])
def test_base_classes_are_in_gymnasium(era: str, tmp_path: Path) -> None:
    text = MODULES if "1.4" in era else MODULES.replace("(Own, OwnVector, ", "(Own, ")
    assert lines(tmp_path, text, options=("--as", era)) == ["bases"]


BANNER = """
import gymnasium
import pygame
print("nothing else")
"""


def test_pygame_prints_no_banner(tmp_path: Path) -> None:
    pytest.importorskip("pygame")
    assert lines(tmp_path, BANNER) == ["nothing else"]


TEXT = "import sys, gymnasium; print(sys.argv, __name__, gymnasium.__version__)"


@pytest.mark.parametrize("target", ["-", "/dev/stdin", "-c", "folder", "folder.zip"])
def test_programs_that_are_no_scripts(target: str, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir(exist_ok=True)
    (folder / "__main__.py").write_text(TEXT)
    shutil.make_archive(str(folder), "zip", folder)
    result = subprocess.run(
        [sys.executable, "-m", "gymcore.alias", target, *([TEXT] if target == "-c" else []), "7"],
        input=TEXT,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": PATHS},
        cwd=tmp_path,
    )
    assert result.stdout == f"{[target, '7']} __main__ 1.4.0\n", result.stderr


def test_exceptions(tmp_path: Path) -> None:
    failing = "import gymnasium\ndef f():\n    gymnasium.make('Nope-v1')\nf()\n"
    result = run(tmp_path, failing)
    assert result.returncode == 1
    assert f'File "{tmp_path / "program.py"}", line 3, in f' in result.stderr
    assert result.stderr.splitlines()[-1].startswith("gymcore.error.NameNotFound")


@pytest.mark.parametrize("arguments", [["--as", "gym==0.5", __file__], ["nowhere.py"], []])
def test_wrong_command_lines(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["alias", *arguments])
    with pytest.raises(SystemExit, match="2"):
        main()


def test_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", ["first"])
    monkeypatch.setenv("PYTHONPATH", "other")
    installed = ModuleType("gymnasium")
    installed.__file__ = "packages/gymnasium/__init__.py"
    monkeypatch.setitem(sys.modules, "gymnasium", installed)
    with pytest.raises(error.Error, match=r"gymnasium is already imported, from .*gymnasium"):
        gymcore.alias.install()
    with pytest.raises(error.InvalidArgument, match=r"era: expected one of gymnasium==1.4, .*3"):
        gymcore.alias.install("gymnasium==3")
    assert (sys.path, os.environ["PYTHONPATH"]) == (["first"], "other")
    monkeypatch.delitem(sys.modules, "gymnasium")
    for _ in range(2):
        gymcore.alias.install("gymnasium==0.29")
        assert [Path(path).name for path in sys.path] == ["gymnasium==0.29", "gym==0.26", "first"]
        assert os.environ["PYTHONPATH"] == os.pathsep.join([*sys.path[:2], "other"])
    monkeypatch.setattr(sys, "path", ["first"])
    gymcore.alias.install("gym==0.21", only=True)
    assert [Path(path).name for path in sys.path] == ["gym==0.21", "first"]


def test_only_one_package(tmp_path: Path) -> None:
    """Libraries that compare the classes of the two packages then see one."""
    text = """
        import gymnasium
        try:
            import gym
            print(str(gym.__file__).startswith(gymnasium.__file__.rpartition("gymnasium==")[0]))
        except ImportError:
            print(False)
    """
    for options, shared in (((), "True"), (("--only",), "False")):
        assert lines(tmp_path, dedent(text), options=options) == [shared]


def test_packages_of_two_eras_share_a_registry(tmp_path: Path) -> None:
    """Each makes an environment with its own interface, whichever registered it."""
    text = """
        import gym, gymnasium
        class Old(gym.Env):
            observation_space = action_space = gym.spaces.Discrete(2)
            def reset(self):
                return 0
            def step(self, action):
                return 0, 0.0, False, {}
        gym.register("Old-v0", Old)
        gymnasium.register("New-v0", "gymnasium.envs.classic_control:CartPoleEnv")
        print(gym.make("Old-v0").reset(), gym.make("New-v0").reset().shape)
        for name in ("Old-v0", "New-v0"):
            env = gymnasium.make(name)
            print(len(env.reset()), len(env.step(0)))
    """
    result = lines(tmp_path, dedent(text), options=("--as", "gym==0.21"))
    assert result == ["0 (4,)", "2 5", "2 5"]
