"""Simulations that fail or diverge, and programs that must not run."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import weakref
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import mujoco
import numpy as np
import pytest

from gymcore import error
from gymcore.envs.mujoco.compiled_env import CompiledMujocoEnv
from gymcore.envs.mujoco.description import Description, Simulation
from gymcore.envs.mujoco.library import SimulationFailed, load_functions
from gymcore.envs.mujoco.mujoco_env import BrokenModel, MujocoEnv
from gymcore.envs.mujoco.quantities import Op, before, joined, norm, standard_normal, uniform
from gymcore_ext.engine.batch import Batch
from gymcore_ext.mujoco.simulations import OPERATION, Simulations, set_functions
from tests.envs.mujoco.hanging import MODEL, HangingEnv, PileEnv, PileVectorEnv, hanging


def failing_pile(kind: Any, **options: Any) -> Any:
    """Return environments whose contacts do not fit their memory, so that MuJoCo raises an error.

    The amount of memory depends on MuJoCo's version: with less the model does not load, with more
    MuJoCo omits contacts and warns.
    """
    for kilobytes in range(9, 60):
        try:
            envs = kind(kilobytes=kilobytes, **options)
        except BrokenModel:
            continue
        try:
            envs.reset(seed=0)
            for _ in range(30):
                envs.step(np.zeros(envs.action_space.shape))
        except SimulationFailed as problem:
            return envs, problem
    pytest.fail("no size of memory makes MuJoCo fail")


@pytest.mark.filterwarnings("ignore:.*contacts")
@pytest.mark.filterwarnings("ignore:.*arena")
class TestFailures:
    """A failure is an exception that names lanes, with no output and no end of the process."""

    def test_of_a_single_environment(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any
    ) -> None:
        monkeypatch.chdir(tmp_path)
        env, problem = failing_pile(PileEnv)
        assert problem.lanes == [0]
        assert "lane 0" in str(problem)
        assert "mj_stackAlloc" in str(problem)
        with pytest.raises(error.ResetNeeded):
            env.step(np.zeros(1))
        assert os.listdir() == []
        assert "".join(capfd.readouterr()) == ""

    @pytest.mark.parametrize("num_threads", [1, 3])
    def test_of_a_batch(self, num_threads: int) -> None:
        envs, problem = failing_pile(PileVectorEnv, num_envs=6, num_threads=num_threads)
        assert problem.lanes == list(range(6))
        assert "and 2 more lanes" in str(problem)
        with pytest.raises(error.ResetNeeded):
            envs.step(np.zeros((6, 1)))
        with pytest.raises(SimulationFailed):
            envs.reset()
            for _ in range(30):
                envs.step(np.zeros((6, 1)))

    def test_mujocos_own_errors_are_its_own_again(self) -> None:

        env, _ = failing_pile(PileEnv)
        with pytest.raises(mujoco.FatalError):
            for _ in range(200):
                mujoco.mj_step(env.model, env.data)


def test_a_diverged_simulation_ends_its_episode() -> None:
    envs = hanging(3)
    envs.reset(seed=0)
    envs.get_attr("data")[1].qvel[:] = 1e15
    with pytest.warns(UserWarning, match="lane 1: .*huge value in Q"):
        observations, _, terminated, *_ = envs.step(np.zeros((3, 1)))
    assert terminated.tolist() == [False, True, False]
    assert np.isfinite(observations).all()
    assert np.isfinite(envs.step(np.zeros((3, 1)))[0]).all()


def test_a_diverged_single_simulation() -> None:
    env = HangingEnv()
    env.reset(seed=0)
    env.data.qpos[0] = np.nan
    with pytest.warns(UserWarning, match=r"MuJoCo: lane 0: .*QPOS"):
        observation, _, terminated, *_ = env.step(np.zeros(1))
    assert terminated
    assert np.isfinite(observation).all()


def test_a_start_that_never_comes() -> None:
    class Hopeless(HangingEnv):
        def describe(self, simulation: Simulation) -> Description:
            described = super().describe(simulation)
            described.draws = [uniform(-1.0, 1.0, 2).until(lambda drawn: norm(drawn) > 2.0)]
            return described

    with pytest.raises(SimulationFailed, match="lane 0: no draw satisfied"):
        Hopeless().reset(seed=1)


def test_a_process_of_its_own_ends_well(tmp_path: Path) -> None:
    """At interpreter exit no part of the batch is used after it is freed."""
    program = (
        "from tests.envs.mujoco.hanging import hanging\n"
        "import numpy as np\n"
        "envs = hanging(4, num_threads=3)\n"
        "envs.reset(seed=0)\n"
        "envs.step(np.zeros((4, 1)))\n"
        "print('done')\n"
    )
    root = Path(__file__).parents[3]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("wanted", ["", "1"])
def test_the_profilers_clock(wanted: str) -> None:
    program = (
        "from tests.envs.mujoco.hanging import HangingEnv\n"
        "import mujoco\n"
        "model = mujoco.MjModel.from_xml_string(open(0).read())\n"
        "data = mujoco.MjData(model)\n"
        "mujoco.mj_step(model, data, nstep=100)\n"
        "print(data.timer[0].duration > 0)\n"
        "env = HangingEnv()\n"
        "env.reset(seed=0)\n"
        "env.step(env.action_space.sample())\n"
        "print(env.data.timer[0].duration > 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=MODEL,
        cwd=Path(__file__).parents[3],
        env={**os.environ, "GYMCORE_MUJOCO_TIMERS": wanted},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    # Before MuJoCo 4 its Python package starts no clock.
    runs, runs_still = done.stdout.split()
    assert runs_still == (runs if wanted else "False")


def test_nothing_is_kept() -> None:
    envs = hanging(3)
    envs.reset(seed=0)
    data = weakref.ref(envs._batch.store)
    envs.close()
    del envs
    gc.collect()
    assert data() is None


# --- programs ------------------------------------------------------------------------------------


def described(**changes: Any) -> Description:
    """Compile a small description with changes that make it invalid."""

    class Changed(CompiledMujocoEnv):
        def __init__(self) -> None:
            super().__init__(MODEL, 1)

        def describe(self, simulation: Simulation) -> Description:
            s = simulation
            given: dict[str, Any] = {
                "observation": [s.qpos],
                "reward": 0.0,
                "qpos": s.init_qpos,
                "qvel": s.init_qvel,
            }
            given.update({k: v(s) if callable(v) else v for k, v in changes.items()})
            return Description(**given)

    return Changed()  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"qpos": np.zeros(3)}, "qpos: expected a quantity of length 2, got 3"),
        ({"reward": lambda s: s.qpos}, "reward: expected a quantity of length 1, got 2"),
        ({"terminated": lambda s: s.qvel > 0}, "terminated: expected a quantity of length 1"),
        ({"observation": lambda s: [before(s.qpos)]}, r"before\(\): has a value only in"),
        ({"observation": lambda s: [s.action()]}, "action: has a value only in"),
        ({"observation": [standard_normal(2)]}, "draws: have values only at the beginning"),
        ({"reset_infos": {"x": 1.0}}, "reset_infos: expected names of infos"),
        ({"infos": {"x": 1.0}, "reset_infos": {"x": np.zeros(2)}}, "x: expected a quantity of"),
        ({"control": lambda s: joined(s.action(), 0.0)}, "control: expected a quantity of length"),
        ({"action_size": 3}, "action_size: expected the number of actuators, 1"),
        ({"reward": lambda s: s.parameter("nothing")}, "parameter: expected one of"),
        ({"reward": lambda s: s.data.efc_force[0]}, "data.efc_force: expected the name of"),
        ({"reward": lambda s: s.data.nothing[0]}, "data.nothing: expected the name of"),
        ({"reward": lambda s: s.qpos + np.zeros(3)}, "quantities: expected equal lengths"),
        ({"reward": "much"}, "quantity: expected a quantity or numbers, got 'much'"),
    ],
)
def test_descriptions_that_make_no_sense(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(error.Error, match=message):
        described(**changes)


def test_expressions_have_no_truth() -> None:
    with pytest.raises(TypeError, match="use where"):
        described(reward=lambda s: 1.0 if s.qpos[0] > 0 else 0.0)


def test_controls_of_ones_own() -> None:
    env: Any = described(action_size=2, control=lambda s: s.action(2)[0] - s.action(2)[1])
    assert env.action_space.shape == (2,)
    env.reset(seed=0)
    env.step(np.array([0.75, 0.5]))
    assert env.data.ctrl.tolist() == [0.25]


def operations_of(env: Any) -> dict[str, Any]:
    return {phase: one.copy() for phase, one in env._program.programs.items()}


@pytest.mark.parametrize(
    "change",
    [
        ("observe", "a", "offset", 10**6),
        ("observe", "a", "space", 77),
        ("observe", "a", "offset", -1),
        ("observe", "out", "offset", 6),
        ("observe", "out", "space", 1),
        ("start", "out", "space", 77),
        ("observe", "code", None, 99),
        ("after", "out", "space", 5),
        ("after", "count", None, 10**6),
    ],
)
def test_programs_that_leave_their_spaces(change: tuple[str, str, str | None, int]) -> None:
    env = HangingEnv()
    phase, name, part, value = change
    programs = operations_of(env)
    record = programs[phase][0]
    assert record.dtype == OPERATION
    if part is None:
        record[name] = value
    else:
        record[name][part] = value

    with pytest.raises(ValueError, match=f"program {phase}: operation 0"):
        simulations(env, programs=programs)


def simulations(env: Any, **changes: Any) -> Simulations:
    """Return simulations of one lane, with the program of `env` changed."""
    program = SimpleNamespace(**vars(env._program) | {"programs": env._program.programs} | changes)
    signature = int(mujoco.mjtState.mjSTATE_INTEGRATION)
    arguments = {"frame_skip": 1, "on_fault": print, "signature": signature}
    return Simulations(program, models=[env.model], datas=[env.data], **arguments)


def test_functions_are_those_of_the_package() -> None:
    functions = load_functions()
    assert {"mj_step", "mj_forward", "mj_resetData", "mj_rnePostConstraint"} <= functions.keys()
    handlers = [name for name in functions if name.startswith("_mjPRIVATE")]
    for missing in ("mj_step", "mj_setState", handlers[0]):
        others = {name: functions[name] for name in functions.keys() - {missing}}
        with pytest.raises(ValueError, match="functions: expected"):
            set_functions(others, 0)


def test_no_functions() -> None:
    """Without MuJoCo's functions nothing is called."""
    program = (
        "from types import SimpleNamespace\n"
        "from gymcore_ext.mujoco.simulations import take_steps\n"
        "data = SimpleNamespace(_address=0)\n"
        "take_steps(data, data, 1)\n"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert "ValueError: functions: expected a call of set_functions" in done.stderr


def test_results_have_registers() -> None:
    env = HangingEnv()
    needed = 2 + sum(size for _, _, size, _ in env._program.infos)
    for registers in (-1, 0, 1, needed - 1):
        with pytest.raises(ValueError, match=f"registers: expected at least {needed}"):
            simulations(env, registers=registers)


def test_programs_are_copied() -> None:
    """A change of the operations after their check has no effect."""
    env = HangingEnv()
    programs = operations_of(env)
    store = simulations(env, programs=programs)
    batch = Batch(store.kernel, 1, errors=error, store=store)
    for operations in programs.values():
        operations["a"]["offset"] = 10**8
    batch.seed(1, 0, 1)
    batch.reset()
    assert np.isfinite(batch.step(np.zeros((1, 1)))[0]).all()


@pytest.mark.parametrize(
    ("code", "count", "target", "stride", "wrong"),
    [
        (Op.ADD, 2, 0, 1, False),
        (Op.ADD, -1, 0, 1, True),
        (Op.ADD, 2**31 - 1, 0, 2**31 - 1, True),
        (Op.ADD, 10**6, 0, 0, True),  # its results are consecutive whatever the stride
        (Op.REPEAT_UNLESS, 0, 0, 1, True),
        (Op.REPEAT_UNLESS, 1, 0, 1, False),
        (Op.REPEAT_UNLESS, 1, 1, 1, True),
        (Op.REPEAT_UNLESS, 1, -1, 1, True),
        (Op.SUM, 2, 0, 1, False),
        (Op.SUM, -1, 0, 1, True),
        (Op.SUM, 10**6, 0, 1, True),
        (Op.SUM, 10**6, 0, 0, False),
        (Op.SUM, 2, 0, -1, True),
    ],
)
def test_counts_of_operations(code: Op, count: int, target: int, stride: int, wrong: bool) -> None:
    """Operations that always read their operands are refused without one."""
    env = HangingEnv()
    start = env._program.programs["start"]
    operation = np.zeros(1, OPERATION)
    operation["code"], operation["count"], operation["target"] = code, count, target
    for operand in ("a", "b", "c"):
        operation[operand]["stride"] = stride
    # A jump goes to an earlier operation.
    place = 1 if code == Op.REPEAT_UNLESS else len(start)
    programs = operations_of(env) | {"start": np.insert(start, place, operation)}
    if not wrong:
        simulations(env, programs=programs)
        return
    with pytest.raises(ValueError, match=f"program start: operation {place} .* leaves its spaces"):
        simulations(env, programs=programs)


class TestOneSimulation:
    """Environments written in Python, based on `MujocoEnv`."""

    def make(self) -> Any:
        class Sliding(MujocoEnv):
            metadata: Any = {"render_modes": [], "render_fps": 25}  # noqa: RUF012

            def __init__(self) -> None:
                super().__init__(MODEL, 4, None)

        return Sliding()

    def test_messages_are_warnings(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any
    ) -> None:
        monkeypatch.chdir(tmp_path)
        env = self.make()
        env.data.qpos[0] = np.nan
        with pytest.warns(UserWarning, match=r"MuJoCo: lane 0: .*QPOS"):
            env.do_simulation(np.zeros(1), 4)
        assert np.isfinite(env.data.qpos).all()
        assert os.listdir() == []
        assert "".join(capfd.readouterr()) == ""

    def test_steps_are_mujocos(self) -> None:
        env, other = self.make(), self.make()
        env.do_simulation(np.ones(1), 7)
        other.data.ctrl[:] = 1.0
        mujoco.mj_step(other.model, other.data, nstep=7)
        mujoco.mj_rnePostConstraint(other.model, other.data)
        assert env.state_vector().tobytes() == other.state_vector().tobytes()
        assert env.data.cfrc_ext.tobytes() == other.data.cfrc_ext.tobytes()
