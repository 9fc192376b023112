"""make: wrappers, arguments, render modes and specs, compared with Gymnasium."""

from __future__ import annotations

import copy
import pickle
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import gymcore
from tests.envs.registered import fill, make_env_class, make_recording_wrapper
from tests.parity import compare, normal

pytestmark = pytest.mark.usefixtures("registries")


@pytest.fixture(autouse=True)
def no_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")


# Default wrappers


@pytest.mark.parametrize("registered", [None, 10])
@pytest.mark.parametrize("order", [True, False])
@pytest.mark.parametrize("no_checker", [True, False])
@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"max_episode_steps": 3},
        {"max_episode_steps": -1},
        {"disable_env_checker": True},
        {"disable_env_checker": False},
        {"max_episode_steps": 0},
        {"max_episode_steps": -2},
        {"max_episode_steps": "3"},
        {"max_episode_steps": 2.0},
    ],
)
def test_default_wrappers_like_gymnasium(
    arguments: dict[str, Any], no_checker: bool, order: bool, registered: int | None
) -> None:
    def scenario(gym: ModuleType) -> list[Any]:
        settings = {"order_enforce": order, "disable_env_checker": no_checker}
        fill(gym, "Maze-v0", max_episode_steps=registered, **settings)
        env = gym.make("Maze-v0", **arguments)
        again = gym.make(env.spec)
        return [str(env), env.spec, env.unwrapped.spec, str(again), again.spec == env.spec]

    compare(scenario)


def test_order_of_all_wrappers() -> None:
    fill(gymcore)
    wrapper = make_recording_wrapper(gymcore)
    globals()["Scaled"] = wrapper
    gymcore.register(
        "Maze-v0",
        entry_point=make_env_class(gymcore),
        max_episode_steps=5,
        additional_wrappers=(
            gymcore.envs.registration.WrapperSpec("Scaled", f"{__name__}:Scaled", {"scale": 2}),
        ),
    )
    env = gymcore.make("Maze-v0", render_mode="rgb_array_list")
    assert str(env) == (
        "<RenderCollection<Scaled<TimeLimit<OrderEnforcing<PassiveEnvChecker<Maze<Maze-v0>>>>>>>"
    )
    assert isinstance(env.env, wrapper)


# Arguments


@pytest.mark.parametrize("arguments", [{}, {"size": 7}, {"render_mode": "rgb_array"}, {"no": 1}])
def test_arguments_like_gymnasium(arguments: dict[str, Any]) -> None:
    def scenario(gym: ModuleType) -> list[Any]:
        fill(gym, "Maze-v0", kwargs={"size": 5})
        env = gym.make("Maze-v0", **arguments)
        return [env.unwrapped.size, env.unwrapped.render_mode, env.spec, gym.spec("Maze-v0").kwargs]

    compare(scenario)


def test_environments_do_not_share_registered_arguments() -> None:
    def scenario(gym: ModuleType) -> list[bool]:
        sizes, given = [1, [2]], [3]
        fill(gym, "Maze-v0", kwargs={"size": sizes})
        first, second = gym.make("Maze-v0").unwrapped, gym.make("Maze-v0").unwrapped
        return [
            first.size is sizes,
            first.size is second.size,
            first.size[1] is second.size[1],
            gym.make("Maze-v0", size=given).unwrapped.size is given,
        ]

    assert compare(scenario).value == [False, False, False, True]


def test_arguments_that_cannot_be_copied() -> None:
    class NoCopy:
        def __deepcopy__(self, memo: Any) -> Any:
            raise RuntimeError("this cannot be copied")

    model = NoCopy()
    fill(gymcore, "Maze-v0")
    env = gymcore.make("Maze-v0", size=model)
    assert env.unwrapped.size is model
    assert env.spec is not None
    assert env.spec.kwargs == {"size": model}
    assert gymcore.make(env.spec).unwrapped.size is model
    assert gymcore.make(env.spec.copy(kwargs={})).spec is not None


# Entry points that do not make an environment


@pytest.mark.parametrize(
    "problem",
    [TypeError("inside"), RuntimeError("inside"), ValueError("x"), KeyError("k"), ImportError("y")],
)
def test_errors_in_the_constructor(problem: Exception) -> None:
    def creator(**kwargs: Any) -> Any:
        raise problem

    def scenario(gym: ModuleType) -> Any:
        fill(gym)
        gym.register("Broken-v0", entry_point=creator)
        return gym.make("Broken-v0", size=3, render_mode="human")

    error = compare(scenario).error
    if isinstance(problem, TypeError):
        assert error is not None
        assert error.__cause__ is problem
        assert normal(str(error)).startswith("inside was raised from the environment creator")


def test_type_error_whose_class_takes_no_message() -> None:
    class TwoArguments(TypeError):
        def __init__(self, a: int, b: int) -> None:
            super().__init__(f"{a} and {b}")

    def creator(**kwargs: Any) -> Any:
        raise TwoArguments(1, 2)

    fill(gymcore)
    gymcore.register("Broken-v0", entry_point=creator)
    with pytest.raises(TypeError, match=r"^1 and 2 was raised from the environment creator"):
        gymcore.make("Broken-v0")


@pytest.mark.parametrize("made", [3, None, object()])
def test_something_else_than_an_environment(made: Any) -> None:
    def scenario(gym: ModuleType) -> Any:
        fill(gym)
        gym.register("Other-v0", entry_point=lambda **kwargs: made)
        return gym.make("Other-v0")

    compare(scenario, message=False)
    with pytest.raises(TypeError, match=r"must inherit from the gymcore\.Env class, actual class"):
        scenario(gymcore)


def test_environment_of_another_library() -> None:
    fill(gymcore)
    gymcore.register("Other-v0", entry_point=type("Env", (), {"__module__": "gym.core"}))
    with pytest.raises(TypeError, match=r"Gym is incompatible with gymcore, .* `GymV26Env"):
        gymcore.make("Other-v0")


def test_only_a_vector_entry_point() -> None:
    def scenario(gym: ModuleType) -> Any:
        fill(gym)
        gym.register("Vector-v0", vector_entry_point="a:B")
        return gym.make("Vector-v0")

    compare(scenario)
    compare(lambda gym: gym.make(gym.envs.registration.EnvSpec("Maze-v0")))


@pytest.mark.parametrize("place", ["math:nope", "no_such_module:x"])
def test_entry_point_that_is_not_there(place: str) -> None:
    def scenario(gym: ModuleType) -> Any:
        fill(gym)
        gym.register("Gone-v0", entry_point=place)
        return gym.make("Gone-v0")

    compare(scenario)


# Render modes

MODES: list[Any] = [
    ["rgb_array"],
    ["human"],
    [],
    ["ansi", "rgb_array"],
    ["rgb_array", "human", "rgb_array_list"],
    None,
]


@pytest.mark.parametrize(
    "asked",
    [None, "human", "rgb_array", "rgb_array_list", "human_list", "ansi", "ansi_list", "other"],
)
@pytest.mark.parametrize("modes", MODES)
def test_render_modes_like_gymnasium(modes: Any, asked: str | None) -> None:
    def scenario(gym: ModuleType) -> list[Any]:
        fill(gym)
        metadata = {"render_modes": modes, "render_fps": 10}
        gym.register("Maze-v0", entry_point=make_env_class(gym, metadata=metadata))
        env = gym.make("Maze-v0", render_mode=asked)
        seen = [str(env), env.render_mode, env.unwrapped.render_mode, env.metadata, env.spec]
        env.close()
        return seen

    compare(scenario)


def test_render_modes_that_are_no_list() -> None:
    """Gymnasium fails in the wrapper, or on an integer, with AttributeError and TypeError."""
    fill(gymcore)
    metadata = {"render_modes": ("rgb_array",), "render_fps": 10}
    gymcore.register("Tuple-v0", entry_point=make_env_class(gymcore, metadata=metadata))
    env = gymcore.make("Tuple-v0", render_mode="rgb_array_list")
    assert env.metadata["render_modes"] == ["rgb_array", "rgb_array_list"]

    metadata = {"render_modes": 3}
    gymcore.register("Number-v0", entry_point=make_env_class(gymcore, metadata=metadata))
    with pytest.warns(UserWarning, match="metadata render_modes to be a Iterable"):
        env = gymcore.make("Number-v0", render_mode="human")
    assert env.render_mode == "human"


@pytest.mark.parametrize(
    "modes", [["rgb_array", "rgb_array_list"], ["rgb_array_list", "rgb_array"]]
)
def test_human_rendering_takes_a_single_frame_if_it_can(modes: Any) -> None:
    fill(gymcore)
    metadata = {"render_modes": modes, "render_fps": 10}
    gymcore.register("Maze-v0", entry_point=make_env_class(gymcore, metadata=metadata))
    with pytest.warns(UserWarning, match="The HumanRendering wrapper is being applied"):
        env = gymcore.make("Maze-v0", render_mode="human")
    assert env.unwrapped.render_mode == "rgb_array"
    env.close()


def test_human_rendering_of_an_environment_without_render_mode() -> None:
    def scenario(gym: ModuleType) -> Any:
        class Old(gym.Env):
            metadata = {"render_modes": ["rgb_array"], "render_fps": 3}  # noqa: RUF012

            def __init__(self) -> None:
                pass

        fill(gym)
        gym.register("Old-v0", entry_point=Old)
        return gym.make("Old-v0", render_mode="human")

    compare(scenario)


@pytest.mark.parametrize("metadata", [3, None, [], {}, {"render_fps": 3}])
def test_metadata_like_gymnasium(metadata: Any) -> None:
    def scenario(gym: ModuleType) -> Any:
        fill(gym)
        gym.register("Maze-v0", entry_point=make_env_class(gym, metadata=metadata))
        return str(gym.make("Maze-v0", render_mode="rgb_array"))

    compare(scenario)


def test_entry_point_without_metadata() -> None:
    def scenario(gym: ModuleType) -> list[Any]:
        fill(gym)
        env_class = make_env_class(gym)
        gym.register("Maze-v0", entry_point=lambda **kwargs: env_class(**kwargs))
        return [gym.make("Maze-v0", render_mode=mode).render_mode for mode in ("human", "other")]

    compare(scenario)


# Specs that recreate wrapped environments


def test_round_trip_through_json() -> None:
    fill(gymcore)
    gymcore.register("Maze-v0", entry_point="tests.envs.test_making:make_maze", max_episode_steps=4)
    env = gymcore.wrappers.RecordEpisodeStatistics(
        gymcore.wrappers.Autoreset(gymcore.make("Maze-v0", size=3, render_mode="rgb_array_list")),
        buffer_length=7,
    )
    spec = env.spec
    assert spec is not None
    again = gymcore.make(gymcore.envs.registration.EnvSpec.from_json(spec.to_json()))
    assert str(again) == str(env)
    assert again.spec == spec
    assert again.unwrapped.size == 3
    assert again.return_queue.maxlen == 7  # type: ignore[attr-defined]


def make_maze(**kwargs: Any) -> Any:
    return make_env_class(gymcore)(**kwargs)


def test_wrappers_that_cannot_be_made_again() -> None:
    made = []

    def scenario(gym: ModuleType) -> Any:
        class Plain(gym.Wrapper):
            pass

        env_class = make_env_class(gym)

        def creator(**kwargs: Any) -> Any:
            made.append(gym.__name__)
            return env_class(**kwargs)

        fill(gym)
        gym.register("Maze-v0", entry_point=creator)
        return gym.make(Plain(gym.make("Maze-v0")).spec)

    compare(scenario)
    assert made.count("gymcore") == 1, "the environment was made before the wrappers were checked"


@pytest.mark.parametrize("recorded", [None, {"scale": 1}, {"scale": 5}])
def test_wrappers_of_the_creator(recorded: dict[str, Any] | None) -> None:
    """A creator may return a wrapped environment; its wrappers must then match the spec's."""

    def scenario(gym: ModuleType) -> list[Any]:
        fill(gym)
        scaled, maze = make_recording_wrapper(gym), make_env_class(gym)
        place = f"{scaled.__module__}:{scaled.__name__}"
        wrapper_spec = gym.envs.registration.WrapperSpec("Scaled", place, recorded)
        gym.register(
            "Maze-v0",
            entry_point=lambda **kwargs: scaled(maze(**kwargs)),
            additional_wrappers=() if recorded is None else (wrapper_spec,),
        )
        env = gym.make("Maze-v0")
        return [str(env), env.spec, str(gym.make(env.spec))]

    compare(scenario)


def test_a_creator_with_more_wrappers_than_the_spec() -> None:
    def scenario(gym: ModuleType) -> list[Any]:
        fill(gym)
        scaled, maze = make_recording_wrapper(gym), make_env_class(gym)
        gym.register(
            "Maze-v0",
            entry_point=lambda **kwargs: scaled(scaled(maze(**kwargs))),
            additional_wrappers=(gym.wrappers.Autoreset.wrapper_spec(),),
        )
        env = gym.make("Maze-v0")
        return [str(env), [wrapper.name for wrapper in env.spec.additional_wrappers]]

    compare(scenario)


def test_a_wrapper_class_as_entry_point() -> None:
    def scenario(gym: ModuleType) -> list[Any]:
        fill(gym)
        maze = make_env_class(gym)

        class Wrapped(gym.Wrapper):
            def __init__(self, **kwargs: Any) -> None:
                super().__init__(maze(**kwargs))

        gym.register("Maze-v0", entry_point=Wrapped)
        env = gym.make("Maze-v0", render_mode="other")
        return [str(env), env.render_mode]

    compare(scenario)


def test_creator_that_calls_make() -> None:
    def scenario(gym: ModuleType) -> list[Any]:
        fill(gym, "Maze-v0", max_episode_steps=3)
        gym.register("Outer-v0", entry_point=lambda **kwargs: gym.make("Maze-v0", **kwargs))
        env = gym.make("Outer-v0")
        return [str(env), env.spec, env.unwrapped.spec]

    compare(scenario)


@pytest.mark.parametrize(
    ("place", "arguments"),
    [("math:nope", {}), ("no_such_module:x", {}), ("gym.wrappers:TimeLimit", {"no": 1})],
)
def test_wrapper_specs_that_fail(place: str, arguments: dict[str, Any]) -> None:
    def scenario(gym: ModuleType) -> Any:
        fill(gym)
        registration = gym.envs.registration
        own_place = place.replace("gym.", f"{gym.__name__}.")
        wrapper_spec = registration.WrapperSpec("Broken", own_place, arguments)
        spec = registration.EnvSpec(
            "Maze-v0", entry_point=make_env_class(gym), additional_wrappers=(wrapper_spec,)
        )
        return gym.make(spec)

    compare(scenario)


def test_wrapper_does_not_share_the_specs_containers() -> None:
    fill(gymcore)
    globals()["Scaled"] = make_recording_wrapper(gymcore)
    registration = gymcore.envs.registration
    scale = [1]
    spec = registration.EnvSpec(
        "Maze-v0",
        entry_point=make_env_class(gymcore),
        additional_wrappers=(
            registration.WrapperSpec("Scaled", f"{__name__}:Scaled", {"scale": scale}),
        ),
    )
    env = gymcore.make(spec)
    scale.append(2)
    assert env._saved_kwargs == {"scale": [1]}  # type: ignore[attr-defined]


def test_changing_a_spec_changes_no_environment() -> None:
    fill(gymcore, "Maze-v0", max_episode_steps=5, kwargs={"size": [1]})
    env = gymcore.make("Maze-v0")
    assert env.spec is not None
    env.spec.kwargs["size"].append(2)
    env.spec.max_episode_steps = 9
    assert env.unwrapped.size == [1]
    assert gymcore.spec("Maze-v0").kwargs == {"size": [1]}
    assert gymcore.make("Maze-v0").spec.max_episode_steps == 5  # type: ignore[union-attr]


# The environments themselves


@pytest.mark.parametrize("seed", [0, 3])
def test_an_episode_like_gymnasium(seed: int) -> None:
    def scenario(gym: ModuleType) -> list[Any]:
        fill(gym, "Maze-v0", max_episode_steps=3)
        env = gym.make("Maze-v0")
        transitions = [env.reset(seed=seed)]
        transitions += [env.step(0) for _ in range(4)]
        return [*transitions, env.reset(), env.step(1), env.np_random_seed]

    compare(scenario)


@pytest.mark.parametrize("steps", [0, 1, 5])
def test_copies_of_made_environments(steps: int) -> None:
    env = gymcore.make("CartPole-v1")
    for _ in range(2):
        env.reset(seed=1)
        for _ in range(steps):
            env.step(0)
    for again in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        assert str(again) == str(env)
        assert again.spec == env.spec
        first, _ = again.reset(seed=2)
        second, _ = env.reset(seed=2)
        np.testing.assert_array_equal(first, second)
        np.testing.assert_array_equal(again.step(1)[0], env.step(1)[0])
