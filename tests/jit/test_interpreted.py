"""`gymcore.jit` run by the interpreter gives the same bits as the built-in kernels."""

from __future__ import annotations

import gc
import pickle
import threading
import weakref
from typing import Any

import numpy as np
import pytest

import gymcore as gym
from gymcore import error, jit, spaces
from tests.interrupts import at_every_instruction
from tests.jit.classes import (
    CLASSES,
    Arm,
    CartPole,
    Errand,
    Everything,
    MountainCar,
    Record,
    Taxi,
)
from tests.testing_env import assert_same

BUILT_IN = {"CartPole-v1": CartPole, "MountainCar-v0": MountainCar, "Taxi-v4": Taxi}


def batch(cls: type[jit.Env], num_envs: int, **options: Any) -> Any:
    return cls.vector_class(num_envs, debug=True, **options)


def actions_of(envs: Any, steps: int) -> list[Any]:
    envs.action_space.seed(3)
    return [envs.action_space.sample() for _ in range(steps)]


@pytest.mark.parametrize("id", list(BUILT_IN))
def test_written_again_they_are_the_built_in_kernels(id: str) -> None:
    options: dict[str, Any] = {"autoreset_mode": "SameStep", "episode_statistics": True}
    theirs = gym.make_vec(id, 4, vector_kwargs=options, max_episode_steps=25)
    ours = batch(BUILT_IN[id], 4, max_episode_steps=25, **options)
    first, others = ours.reset(seed=7), theirs.reset(seed=7)
    assert_same(first[0], others[0])
    for actions in actions_of(ours, 60):
        one, other = ours.step(actions), theirs.step(actions)
        assert_same(one[:4], other[:4])
        assert one[4].keys() <= other[4].keys()
        if "_final_obs" in one[4]:
            assert_same(one[4]["final_obs"], other[4]["final_obs"])
            assert_same(one[4]["episode"]["r"], other[4]["episode"]["r"])


@pytest.mark.parametrize("cls", CLASSES)
def test_a_lane_is_the_single_environment(cls: Any) -> None:
    envs = batch(cls, 3)
    single = cls(debug=True)
    observations, _ = envs.reset(seed=5)
    observation, _ = single.reset(seed=6)
    lanes = list(gym.vector.utils.iterate(envs.observation_space, observations))
    assert plain(lanes[1]) == plain(observation)
    for actions in actions_of(envs, 15):
        step = envs.step(actions)
        one = single.step(actions[1])
        lanes = list(gym.vector.utils.iterate(envs.observation_space, step[0]))
        assert plain(lanes[1]) == plain(one[0])
        assert single.observation_space.contains(one[0])
        assert (step[1][1], step[2][1], step[3][1]) == one[1:4]
        assert {key: plain(infos[1]) for key, infos in step[4].items() if key[0] != "_"} == {
            key: plain(value) for key, value in one[4].items()
        }
        if one[2] or one[3]:
            break


def plain(value: Any) -> Any:
    """Return an observation or info as Python numbers and lists."""
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    return (
        [plain(part) for part in value] if isinstance(value, tuple) else np.asarray(value).tolist()
    )


def test_an_unknown_parameter_is_an_error_that_lists_the_parameters() -> None:
    with pytest.raises(TypeError, match=r"'gravitation'; its parameters are .*gravity.*length"):
        CartPole(debug=True, gravitation=3)


def test_a_class_registers_by_itself(registries: Any) -> None:
    gym.register("Arm-v0", Arm, max_episode_steps=9)
    with gym.make_vec("Arm-v0", 2, debug=True) as envs:
        assert type(envs).__name__ == "ArmVectorEnv"
        observations, _ = envs.reset(seed=1)
        assert [part.shape for part in observations] == [(2, 2), (2,)]
        rollout = envs.rollout(np.zeros((12, 2, 2, 2), np.float32))
        assert rollout.truncated.sum(0).tolist() == [1, 1]
        assert rollout.observations[1].dtype == np.int64
    env = gym.make("Arm-v0", debug=True)
    env.reset(seed=1)
    assert [env.step(np.zeros((2, 2), np.float32))[3] for _ in range(9)] == [False] * 8 + [True]


def test_dict_observations_in_the_callers_arrays_and_at_the_end() -> None:
    envs = batch(Everything, 2, autoreset_mode="SameStep", max_episode_steps=3)
    other = batch(Everything, 2, autoreset_mode="SameStep", max_episode_steps=3)
    envs.reset(seed=1), other.reset(seed=1)
    space = envs.observation_space
    arrays = gym.vector.utils.create_empty_array(envs.single_observation_space, 2)
    for actions in actions_of(envs, 3):
        flags = [np.empty(2, bool) for _ in range(2)]
        rewards = np.empty(2)
        infos = envs.step_into(
            actions, observations=arrays, rewards=rewards, terminated=flags[0], truncated=flags[1]
        )
        step = other.step(actions)
        assert_same(plain(step[0]), plain(arrays))
    assert space.contains(step[0])
    for lane in range(2):
        assert_same(plain(infos["final_obs"][lane]), plain(step[4]["final_obs"][lane]))
        assert envs.single_observation_space.contains(infos["final_obs"][lane])
    with pytest.raises(error.ArgumentTypeError, match="expected a dict with"):
        envs.step_into(
            actions, observations=rewards, rewards=rewards, terminated=flags[0], truncated=flags[1]
        )


def test_saving_reads_no_source(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python 3.11 raises SystemError if two threads parse at the same time."""

    def parse(*arguments: Any, **options: Any) -> Any:
        raise SystemError("AST constructor recursion depth mismatch")

    envs = batch(Taxi, 2)
    envs.reset(seed=1)
    with monkeypatch.context() as patch:
        patch.setattr("ast.parse", parse)
        assert len(envs.get_state()) == 2


def test_an_exception_at_any_instruction_of_saving_stops_no_other_thread() -> None:
    envs = batch(Taxi, 2)
    envs.reset(seed=1)
    assert list(at_every_instruction(envs.get_state))
    saved: list[Any] = []
    other = threading.Thread(target=lambda: saved.append(envs.get_state()), daemon=True)
    other.start()
    other.join(60)
    assert len(saved[0]) == 2


def test_states_parameters_and_copies() -> None:
    envs = batch(Everything, 3, scale=0.25)
    envs.set_attr("steps", [5, 6, 7])
    assert envs.get_attr("steps") == (5, 6, 7) and envs.get_attr("noisy") == (True,) * 3
    with pytest.raises(error.InvalidArgument, match="steps: expected int"):
        envs.set_attr("steps", 2.5)
    envs.reset(seed=1)
    first, *rest = actions_of(envs, 8)
    envs.step(first)
    saved = envs.get_state()
    again = pickle.loads(pickle.dumps(envs))
    other = batch(Everything, 3)
    other.reset(seed=9)
    other.set_state(saved[[2, 0, 1]])
    steps = [envs.step(actions) for actions in rest]
    for actions, step in zip(rest, steps, strict=True):
        assert_same(again.step(actions), step)
        assert_same(other.step(actions[[2, 0, 1]])[1], step[1][[2, 0, 1]])
    state = envs.get_attr("state")[0]
    assert state.count == state["count"] and state.grid.dtype == np.uint8
    envs.set_attr("state", state)
    assert {record.count for record in envs.get_attr("state")} == {int(state.count)}
    with pytest.raises(error.InvalidArgument, match="state: expected 9 fields"):
        envs.set_attr("state", np.zeros(3))
    env = pickle.loads(pickle.dumps(Arm(debug=True)))
    env.reset(seed=1)
    env.state = (0.5, 0.25)
    assert tuple(env.state) == (0.5, 0.25)


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_fields_with_default_values_outlast_episodes(mode: str) -> None:
    envs = batch(Record, 4, autoreset_mode=mode)
    envs.reset(seed=1)
    visits, best, begun = np.full(4, 6), np.full(4, -1.5), np.full(4, 3)
    ended = np.zeros(4, bool)
    for actions in actions_of(envs, 40):
        observations, _, terminated, _, _ = envs.step(actions)
        is_live = ~ended if mode == "NextStep" else np.ones(4, bool)
        visits += 3 * actions * is_live
        begun += ended if mode == "NextStep" else terminated
        assert np.array_equal(observations[:, 2], visits)
        assert np.array_equal(observations[:, 0], begun)
        assert (observations[:, 1] >= best).all()
        best, ended = observations[:, 1].copy(), terminated.copy()
    assert begun.min() > 4
    saved = envs.get_state()
    other = batch(Record, 4, autoreset_mode=mode)
    other.reset(seed=2)
    other.set_state(saved)
    assert_same(other.step(actions)[0], envs.step(actions)[0])


def test_actions_are_checked() -> None:
    envs = batch(Everything, 2)
    envs.reset(seed=1)
    with pytest.raises(error.InvalidAction, match=r"actions\[1, 0\] = 2 is outside \[-1, 2\)"):
        envs.step(np.array([[0, 0], [2, 0]]))
    with pytest.raises(error.InvalidAction, match="int64 array of shape"):
        envs.step(np.array([0, 1]))
    env = CartPole(debug=True)
    env.reset(seed=1)
    while not env.step(0)[2]:
        pass
    with pytest.raises(error.ResetNeeded, match="the episode has ended"):
        env.step(0)


def test_a_bound_step_keeps_the_arrays_it_writes() -> None:
    envs = batch(Everything, 2)
    envs.reset(seed=1)
    arrays = gym.vector.utils.create_empty_array(envs.single_observation_space, 2)
    image = weakref.ref(arrays["image"])
    rewards, flags, (actions,) = np.empty(2), np.empty((2, 2), bool), actions_of(envs, 1)
    step = envs.bind_step(
        actions, observations=arrays, rewards=rewards, terminated=flags[0], truncated=flags[1]
    )
    arrays.clear()
    assert image() is not None
    step()


def test_actions_are_those_that_were_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []
    # Called only by the interpreter: it changes the caller's array as another thread might.
    monkeypatch.setattr("builtins.print", lambda _: given[0].fill(7))

    class Looks(jit.Env):
        observation_space = spaces.Discrete(9)
        action_space = spaces.Discrete(3)

        class State:
            seen: jit.array(np.int64, 3)

        def reset(state, parameters, rng):
            pass

        def step(state, parameters, action, rng):
            state.seen[action] += 1
            print(action)
            return 0.0, False

        def observe(state, parameters, observation):
            observation[0] = state.seen[2]

    envs = batch(Looks, 3)
    envs.reset(seed=1)
    for call in (envs.step, lambda actions: envs.step(actions, [2, 0, 1])):
        given[:] = [np.full(3, 2)]
        observations = call(given[0])[0]
        assert given[0].tolist() == [7, 7, 7]
    assert observations.tolist() == [2, 2, 2]
    given[:] = [np.full((2, 3), 2)]
    assert envs.rollout(given[0]).observations.tolist() == [[3, 3, 3], [4, 4, 4]]


def test_an_interrupt_ends_a_rollout(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def called(action: int) -> None:
        calls.append(action)
        if len(calls) == 5:
            raise KeyboardInterrupt

    monkeypatch.setattr("builtins.print", called)

    class Interrupted(jit.Env):
        observation_space = spaces.Discrete(9)
        action_space = spaces.Discrete(3)

        class State:
            steps: int

        def reset(state, parameters, rng):
            state.steps = 0

        def step(state, parameters, action, rng):
            print(action)
            return 0.0, False

        def observe(state, parameters, observation):
            observation[0] = 0

    envs = batch(Interrupted, 3)
    envs.reset(seed=1)
    with pytest.raises(KeyboardInterrupt):
        envs.rollout(np.zeros((100, 3), np.int64))
    assert len(calls) == 5
    envs.reset(seed=1)
    assert len(envs.rollout(np.zeros((2, 3), np.int64)).rewards) == 2


@pytest.mark.parametrize("mode", ["native", "sync"])
def test_steps_truncate_and_resets_take_options(mode: str) -> None:
    gym.register("Errand-v0", Errand)
    try:
        envs = gym.make_vec("Errand-v0", 2, vectorization_mode=mode, debug=True)
    finally:
        del gym.registry["Errand-v0"]
    for fuel in (2, 1):  # the second lane arrives: from [0, 1) in one step of 1
        envs.reset(seed=1, options={"fuel": fuel, "low": 0.0})
        terminated, truncated = envs.step(np.array([0, 2]))[2:4]
        assert terminated.tolist() == [False, True]
        assert truncated.tolist() == [fuel == 1] * 2
    envs.close()


def test_a_single_environment_ends_with_either_flag() -> None:
    env = Errand(debug=True)
    env.reset(seed=1, options={"fuel": 1})
    assert env.step(0)[2:4] == (False, True)
    with pytest.raises(error.ResetNeeded, match="the episode has ended"):
        env.step(0)
    observation, _ = env.reset()
    assert observation[1] == 9


OPTION_MISTAKES = [
    ({"speed": 1.0}, "options: expected the keys 'low', 'fuel', 'tired', got 'speed'"),
    ({"fuel": 1.5}, r"options\['fuel'\]: expected int, got 1.5"),
    ({"tired": 2}, r"options\['tired'\]: expected bool, got 2.0"),
    ({"low": "far"}, r"An option \(far\) could not be converted to a float"),
    ({"low": np.nan}, "must be a finite number"),
]


@pytest.mark.parametrize(("options", "message"), OPTION_MISTAKES)
def test_wrong_options_are_errors(options: dict[str, Any], message: str) -> None:
    for env in (Errand(debug=True), batch(Errand, 2)):
        with pytest.raises(error.InvalidArgument, match=message):
            env.reset(seed=1, options=options)
    with pytest.raises(error.InvalidArgument, match="got 'low'"):
        CartPole(debug=True).reset(options={"low": 0.0})


def test_frames_are_those_of_its_function() -> None:
    env = CartPole(render_mode="rgb_array", debug=True)
    env.reset(seed=1)
    assert env.render().shape == (20, 30, 3)
    envs = batch(CartPole, 2, render_mode="rgb_array")
    envs.reset(seed=1)
    assert [frame.any() for frame in envs.render()] == [True, True]
    assert Arm.metadata["render_modes"] == []


def test_the_loops_can_be_printed() -> None:
    text = CartPole.source()
    assert "result = step_lane(state, parameters, actions[i]" in text
    assert "left_out" not in text and "left_out" in Everything.source()


# --- errors ---------------------------------------------------------------------------------------


def declare(**members: Any) -> Any:
    """Declare a class that is valid except for these members."""

    class State:
        x: float

    def reset(state, parameters, rng):
        state.x = 1.0

    def step(state, parameters, action, rng):
        return 1.0, False

    def observe(state, parameters, observation):
        observation[0] = state.x

    usual = {
        "observation_space": spaces.Box(-1, 1, (1,), np.float32),
        "action_space": spaces.Discrete(2),
        **{"State": State, "reset": reset, "step": step, "observe": observe},
    }
    members = {k: v for k, v in (usual | members).items() if v is not None}
    return type("Wrong", (jit.Env,), {"__module__": __name__, **members})


class Text:
    x: str


class Numbers:
    x: float


class Empty:
    x: jit.array(float, 0)


class Whole:
    x: int


class Grid:
    x: jit.array(float, 3)


def undeclared(state, parameters, rng):
    state.y = 1.0


def division(state, parameters, action, rng):
    try:
        return 1.0, False
    finally:
        pass


def other_draw(state, parameters, rng):
    state.x = rng.dirichlet(1.0)


def too_few(state, rng):
    state.x = 1.0


def method(self, state, rng):
    state.x = 1.0


def makes_a_list(state, parameters, rng):
    numbers = [1.0]
    state.x = numbers[0]


def changes_a_parameter(state, parameters, action, rng):
    parameters.x = 2.0
    return 1.0, False


def writes_a_key(state, parameters, observation):
    observation["a"][0] = state.x


def assigns_a_part(state, parameters, observation):
    observation.a = state.x


def reads_a_key(state, parameters, action, rng):
    return state["x"], False


class Fuel:
    fuel: int = 3


class Mask:
    reset_mask: int = 3


def draws_for_a_print(state, parameters, rng):
    print(state.x, rng.random())


def changes_an_option(state, parameters, rng, options):
    options.fuel = 2


CLASS_MISTAKES: list[tuple[dict[str, Any], str]] = [
    (
        {"reset": undeclared},
        r"test_interpreted.py:\d+: Wrong.reset: 'y' is not a field of the state: x",
    ),
    ({"step": division}, r"test_interpreted.py:\d+: Wrong.step: `try:` cannot be compiled"),
    ({"reset": makes_a_list}, r"\.py:\d+: Wrong.reset: `\[1.0\]` cannot be compiled"),
    (
        {"observe": writes_a_key},
        r"\.py:\d+: Wrong.observe: `observation\['a'\]` cannot be .* write observation.a, an array",
    ),
    (
        {"observe": assigns_a_part},
        r"\.py:\d+: Wrong.observe: observation.a is an array; write to a\[:\]",
    ),
    ({"step": reads_a_key}, r"\.py:\d+: Wrong.step: `state\['x'\]` cannot .* write state.x$"),
    ({"reset": draws_for_a_print}, r"\.py:\d+: Wrong.reset: `rng.random` draws in a call that"),
    ({"reset": other_draw}, r"\.py:\d+: Wrong.reset: rng.dirichlet does not exist; rng has choice"),
    (
        {"reset": too_few},
        r"\.py:\d+: Wrong.reset: expected the arguments \(state, parameters, rng\), got \(state",
    ),
    (
        {"reset": method},
        r"\.py:\d+: Wrong.reset: expected the arguments \(state, parameters, rng\), got \(self",
    ),
    (
        {"State": Grid},
        r"\.py:\d+: Wrong.reset: state.x is an array; write to x\[:\]",
    ),
    (
        {"Parameters": type("Parameters", (), {"__annotations__": {"x": float}, "x": 1.0})}
        | {"step": changes_a_parameter},
        r"\.py:\d+: Wrong.step: parameters.x cannot be changed; keep it in the state",
    ),
    ({"State": Text}, r"\.py:\d+: Wrong.State.x: expected float, int, bool, .*got <class 'str'>"),
    ({"State": Empty}, r"\.py:\d+: Wrong.State.x: expected .*jit.array.*got .*'float'> \(0,\)"),
    (
        {"State": type("State", (), {"__annotations__": {"x": int}, "x": 0.5})},
        r"Wrong.State.x: expected a default value of type int64 and shape \(\), got 0.5",
    ),
    (
        {"State": type("State", (), {"__annotations__": {"x": jit.array(int, 2)}, "x": [1, 2, 3]})},
        r"Wrong.State.x: expected a default value of type int64 and shape \(2,\), got \[1, 2, 3\]",
    ),
    (
        {"State": type("State", (), {"__annotations__": {"x": jit.array(int, 2)}, "x": [[1], []]})},
        r"Wrong.State.x: expected a default value of type int64 and shape \(2,\)",
    ),
    ({"Parameters": Numbers}, r"Wrong.Parameters.x: expected a number with a default"),
    ({"Options": Numbers}, r"Wrong.Options.x: expected a number with a default"),
    ({"Options": Mask}, r"Wrong.Options.reset_mask: expected another name"),
    (
        {"Options": Fuel},
        r"Wrong.reset: expected the arguments \(state, parameters, rng, options\), got \(state",
    ),
    (
        {"Options": Fuel, "reset": changes_an_option},
        r"Wrong.reset: options.fuel cannot be changed",
    ),
    (
        {"reset": changes_an_option},
        r"Wrong.reset: expected the arguments \(state, parameters, rng\)",
    ),
    ({"observe": None}, r"expected functions \['observe'\]"),
    ({"Infos": Numbers}, r"expected both `class Infos` and"),
    ({"state_space": spaces.Discrete(2)}, r"expected both `state_space` and"),
]


@pytest.mark.parametrize(("members", "words"), CLASS_MISTAKES)
def test_mistakes_are_explained_at_the_class(members: dict[str, Any], words: str) -> None:
    with pytest.raises(error.InvalidArgument, match=words):
        declare(**members)


def writes_nothing(state, parameters, observation):
    if state.x < 0.0:
        observation[0] = state.x


def not_a_number(state, parameters, action, rng):
    state.x = (state.x - 1.0) * 1e308 * 1e308 * 0.0
    return 1.0, False


def no_end(state, parameters, action, rng):
    return 1.0


def outside(state, parameters, observation):
    observation[1] = state.x


RUN_MISTAKES: list[tuple[dict[str, Any], type[Exception], str]] = [
    (
        {"observe": writes_nothing},
        error.InvalidArgument,
        r"\.py:\d+: Wrong.observe: expected all of the observation to be written, but element",
    ),
    ({"observe": outside}, IndexError, "1"),
    ({"State": Whole}, TypeError, "x: expected int, got 1.0"),
    (
        {"step": no_end},
        error.InvalidArgument,
        r"\.py:\d+: Wrong.step: expected `return reward, terminated` or .*truncated`, got 1.0",
    ),
    ({"action_space": spaces.Text(3)}, error.InvalidArgument, "action_space: expected Discrete"),
    ({"observation_space": spaces.Text(3)}, error.InvalidArgument, "observation_space: expected"),
]


@pytest.mark.parametrize(("members", "kind", "words"), RUN_MISTAKES)
def test_mistakes_are_found_in_the_first_steps(members: Any, kind: Any, words: str) -> None:
    with pytest.raises(kind, match=words):
        declare(**members).check_source()


def test_check_env_knows_these_classes() -> None:
    from gymcore.utils.env_checker import check_env

    with pytest.raises(error.InvalidArgument, match="expected all of the observation"):
        check_env(declare(observe=writes_nothing)(debug=True))
    calls: list[str] = []
    env = MountainCar(debug=True)
    env.check_source = lambda: calls.append("checked")
    with pytest.warns(UserWarning, match="not having a spec"):
        check_env(env)
    assert calls == ["checked"]


def test_nan_is_found_and_a_reset_goes_on() -> None:
    envs = declare(step=not_a_number).vector_class(2, debug=True)
    envs.reset(seed=1)
    envs.set_attr("state", np.array([np.float64(2.0)]))
    with pytest.raises(error.InvalidArgument, match=r"\.py:\d+: Wrong.step: state.x is nan"):
        envs.step([0, 0])
    with pytest.raises(error.ResetNeeded):
        envs.step([0, 0])
    assert envs.reset(seed=1)[0].tolist() == [[1.0], [1.0]]


@pytest.mark.filterwarnings("ignore:.*Numba is not installed")
@pytest.mark.parametrize("debug", [True, False])
def test_classes_are_collected(debug: bool) -> None:
    """With their kernels: a program may define any number of them."""

    def used() -> Any:
        cls = declare()
        with cls(debug=debug) as env, cls.vector_class(2, debug=debug) as envs:
            env.reset(seed=1), envs.reset(seed=1)
        return weakref.ref(cls)

    references = [used() for _ in range(3)]
    gc.collect()
    assert [reference() for reference in references] == [None] * 3
