"""make_vec: modes, arguments and specs, compared with Gymnasium."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import cloudpickle
import numpy as np
import pytest

import gymcore
from gymcore.envs.registration import EnvSpec, VectorizeMode, WrapperSpec
from tests.envs.registered import fill, make_env_class, make_vector_class
from tests.parity import compare

pytestmark = pytest.mark.usefixtures("registries")


def setup(gym: ModuleType) -> None:
    """Register an environment for each combination of entry points."""
    fill(gym)
    env_class, vector_class = make_env_class(gym), make_vector_class(gym)
    settings: dict[str, Any] = {"max_episode_steps": 10, "kwargs": {"size": 3}}
    gym.register("Single-v0", entry_point=env_class, **settings)
    gym.register("Both-v0", entry_point=env_class, vector_entry_point=vector_class, **settings)
    gym.register("Vector-v0", vector_entry_point=vector_class)


def describe(env: Any) -> list[Any]:
    singles = getattr(env, "envs", ())
    return [
        env,
        env.spec,
        env.unwrapped.spec is env.spec,
        getattr(env, "kwargs", None),
        [str(single) for single in singles],
        [single.spec for single in singles],
        [single.unwrapped.size for single in singles],
    ]


@pytest.mark.parametrize("env_id", ["Single-v0", "Both-v0", "Vector-v0"])
@pytest.mark.parametrize("mode", [None, "sync", "vector_entry_point"])
@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"num_envs": 3},
        {"num_envs": 2, "size": 4},
        {"num_envs": 2, "max_episode_steps": 5},
        {"num_envs": 2, "max_episode_steps": -1},
        {"num_envs": 2, "render_mode": "rgb_array"},
        {"num_envs": 2, "render_mode": "other"},
        {"num_envs": 2, "vector_kwargs": {}, "wrappers": []},
    ],
)
def test_like_gymnasium(env_id: str, mode: str | None, arguments: dict[str, Any]) -> None:
    def scenario(gym: ModuleType) -> list[Any]:
        setup(gym)
        return describe(gym.make_vec(env_id, vectorization_mode=mode, **arguments))

    compare(scenario)


@pytest.mark.parametrize("env_id", ["Single-v0", "Both-v0"])
@pytest.mark.parametrize(
    "arguments",
    [
        {"vector_kwargs": {"copy": False, "autoreset_mode": "SameStep"}},
        {"vector_kwargs": {"no": 1}},
        {"disable_env_checker": True},
        {"no": 1},
    ],
)
def test_sync_options_like_gymnasium(env_id: str, arguments: dict[str, Any]) -> None:
    def scenario(gym: ModuleType) -> list[Any]:
        setup(gym)
        env = gym.make_vec(env_id, 2, "sync", **arguments)
        return [*describe(env), env.metadata["autoreset_mode"]]

    # gymcore lists the options of the engine and the arguments of the environment.
    compare(scenario, message="no" not in str(arguments))


def test_wrappers_like_gymnasium() -> None:
    def scenario(gym: ModuleType) -> list[Any]:
        setup(gym)
        wrappers = (gym.wrappers.RecordEpisodeStatistics, gym.wrappers.Autoreset)
        env = gym.make_vec("Single-v0", 2, wrappers=wrappers)
        return [*describe(env), *describe(gym.make_vec(env.spec))]

    compare(scenario)


def test_additional_wrappers_like_gymnasium() -> None:
    def scenario(gym: ModuleType) -> list[Any]:
        setup(gym)
        spec = gym.wrappers.RecordEpisodeStatistics(gym.make("Single-v0", size=7)).spec
        return describe(gym.make_vec(spec, 2))

    compare(scenario)


# Modes


def test_modes_like_gymnasium_and_more() -> None:
    assert [mode.value for mode in VectorizeMode] == [
        "async",
        "sync",
        "vector_entry_point",
        "native",
        "remote",
        "ray",
        "compiled",
    ]


def test_native_is_the_vector_entry_point() -> None:
    setup(gymcore)
    for mode in ("native", VectorizeMode.NATIVE):
        env = gymcore.make_vec("Both-v0", 2, mode)
        assert type(env).__name__ == "MazeVector"
        assert env.spec.kwargs["vectorization_mode"] == "native"
    with pytest.raises(gymcore.error.Error, match="Single-v0 because it doesn't have a vector"):
        gymcore.make_vec("Single-v0", 2, "native")


def test_mode_members_and_values_do_the_same() -> None:
    def scenario(gym: ModuleType) -> list[Any]:
        setup(gym)
        modes = gym.VectorizeMode
        envs = [
            gym.make_vec("Both-v0", 2, mode)
            for mode in (modes.SYNC, "sync", modes.VECTOR_ENTRY_POINT, "vector_entry_point")
        ]
        return [(env, env.spec) for env in envs]

    compare(scenario)


@pytest.mark.parametrize("mode", ["SYNC", "", 3, "thread"])
def test_unknown_modes(mode: Any) -> None:
    def scenario(gym: ModuleType) -> Any:
        setup(gym)
        return gym.make_vec("Both-v0", 2, mode)

    compare(scenario, message=False)
    with pytest.raises(ValueError, match=rf"Invalid vectorization mode: {mode!r}, valid modes: \["):
        scenario(gymcore)


def test_async_gets_one_picklable_function_a_lane(monkeypatch: pytest.MonkeyPatch) -> None:
    setup(gymcore)
    received: dict[str, Any] = {}

    class AsyncVectorEnv(gymcore.vector.VectorEnv):  # type: ignore[misc]
        metadata = {"autoreset_mode": gymcore.vector.AutoresetMode.NEXT_STEP}  # noqa: RUF012

        def __init__(self, env_fns: Any, num_workers: int) -> None:
            received.update(env_fns=env_fns, num_workers=num_workers)
            self.num_envs = len(env_fns)

    monkeypatch.setattr(gymcore.vector, "AsyncVectorEnv", AsyncVectorEnv, raising=False)
    wrappers = [gymcore.wrappers.RecordEpisodeStatistics]
    env = gymcore.make_vec("Single-v0", 3, "async", {"num_workers": 2}, wrappers)
    assert env.num_envs == len(received["env_fns"]) == 3
    assert received["num_workers"] == 2
    assert env.spec.kwargs["vectorization_mode"] == "async"
    make_one = cloudpickle.loads(cloudpickle.dumps(received["env_fns"][0]))
    gymcore.registry.clear()  # a worker process has no registered ids
    assert str(make_one()).startswith("<RecordEpisodeStatistics<TimeLimit<OrderEnforcing<")


# Additions to Gymnasium


def test_vector_kwargs_reach_every_mode() -> None:
    setup(gymcore)
    options = {"copy": False}
    native = gymcore.make_vec("Both-v0", 2, vector_kwargs=options)
    assert native.kwargs == {"size": 3, "max_episode_steps": 10, "copy": False}
    assert native.spec.kwargs["vector_kwargs"] == options
    assert gymcore.make_vec(native.spec).kwargs == native.kwargs
    sync = gymcore.make_vec("Both-v0", 2, "sync", vector_kwargs=options)
    assert sync.copy is False
    assert native.spec.kwargs.keys() - {"max_episode_steps"} == sync.spec.kwargs.keys()


def test_the_same_name_twice() -> None:
    setup(gymcore)
    with pytest.raises(ValueError, match=r"vector_kwargs: \['size'\] are also environment"):
        gymcore.make_vec("Both-v0", 2, vector_kwargs={"size": 4})


def test_disable_env_checker_does_not_stop_the_native_mode() -> None:
    setup(gymcore)
    env = gymcore.make_vec("Both-v0", 2, disable_env_checker=True)
    assert "disable_env_checker" not in env.kwargs
    again = gymcore.make_vec(env.spec, vectorization_mode="sync")
    assert str(again.envs[0]) == "<TimeLimit<OrderEnforcing<Maze<Both-v0>>>>"


def test_wrappers_choose_sync_unless_another_mode_was_asked_for() -> None:
    setup(gymcore)
    wrappers = [gymcore.wrappers.RecordEpisodeStatistics]
    with pytest.warns(UserWarning, match="Both-v0 is stepped by SyncVectorEnv") as warned:
        envs = gymcore.make_vec("Both-v0", 2, wrappers=wrappers)
    assert type(envs).__name__ == "SyncVectorEnv" and warned[0].filename == __file__
    gymcore.make_vec("Single-v0", 2, wrappers=wrappers)  # has no compiled engine: no warning
    gymcore.make_vec("Both-v0", 2, "sync", wrappers=wrappers)
    spec = gymcore.spec("Both-v0").copy(
        additional_wrappers=(WrapperSpec("A", "gymcore.wrappers.common:Autoreset", {}),)
    )
    env = gymcore.make_vec(spec, 2)
    assert str(env.envs[0]).startswith("<Autoreset<TimeLimit<")
    for mode in ("vector_entry_point", "native"):
        with pytest.raises(gymcore.error.Error, match="with the wrappers argument"):
            gymcore.make_vec("Both-v0", 2, mode, wrappers=wrappers)
        with pytest.raises(gymcore.error.Error, match="additional_wrappers parameter in spec"):
            gymcore.make_vec(spec, 2, mode)
    with pytest.raises(gymcore.error.Error, match="with the wrappers argument"):
        gymcore.make_vec("Vector-v0", 2, wrappers=wrappers)


def test_explicit_wrappers_are_an_error_like_in_gymnasium() -> None:
    def scenario(gym: ModuleType) -> Any:
        setup(gym)
        return gym.make_vec("Both-v0", 2, "vector_entry_point", wrappers=[int])

    compare(scenario)


@pytest.mark.parametrize("num_envs", [0, -1])
def test_too_few_environments(num_envs: int) -> None:
    setup(gymcore)
    for mode in ("sync", "native"):
        with pytest.raises(ValueError, match=f"num_envs: expected at least 1, got {num_envs}"):
            gymcore.make_vec("Both-v0", num_envs, mode)


@pytest.mark.parametrize("num_envs", ["2", 2.0])
def test_num_envs_of_a_wrong_type(num_envs: Any) -> None:
    setup(gymcore)
    with pytest.raises(TypeError, match="num_envs: expected an integer, got"):
        gymcore.make_vec("Both-v0", num_envs)


def test_numpy_num_envs() -> None:
    setup(gymcore)
    env = gymcore.make_vec("Both-v0", np.int64(2))
    assert type(env.num_envs) is int
    assert type(env.spec.kwargs["num_envs"]) is int


def test_a_vector_entry_point_that_makes_something_else() -> None:
    fill(gymcore)
    gymcore.register("Odd-v0", vector_entry_point=lambda **kwargs: 3)
    with pytest.raises(TypeError, match=r"Odd-v0 must make a gymcore\.vector\.VectorEnv, actual"):
        gymcore.make_vec("Odd-v0")


def test_errors_of_the_vector_entry_point() -> None:
    def creator(**kwargs: Any) -> Any:
        raise TypeError("inside")

    def scenario(gym: ModuleType) -> Any:
        fill(gym)
        gym.register("Broken-v0", vector_entry_point=creator)
        return gym.make_vec("Broken-v0")

    compare(scenario)


@pytest.mark.parametrize("metadata", [{}, {"autoreset_mode": "NextStep"}])
def test_metadata_without_a_mode_like_gymnasium(metadata: Any) -> None:
    def scenario(gym: ModuleType) -> Any:
        fill(gym)
        vector_class = make_vector_class(gym, metadata=metadata)
        gym.register("Vector-v0", vector_entry_point=vector_class)
        return gym.make_vec("Vector-v0", 2)

    compare(scenario)


# Specs


@pytest.mark.parametrize("env_id", ["Single-v0", "Both-v0", "Vector-v0"])
@pytest.mark.parametrize(
    "arguments",
    [
        {"num_envs": 1},
        {"num_envs": 3},
        {"num_envs": 2, "size": 4, "max_episode_steps": 5},
        {"num_envs": 2, "render_mode": "rgb_array"},
    ],
)
def test_round_trip_like_gymnasium(env_id: str, arguments: dict[str, Any]) -> None:
    def scenario(gym: ModuleType) -> list[Any]:
        setup(gym)
        env = gym.make_vec(env_id, **arguments)
        again = gym.make_vec(env.spec)
        return [env.spec, again.spec == env.spec, *describe(again)]

    compare(scenario)


def test_arguments_take_the_place_of_those_in_the_spec() -> None:
    setup(gymcore)
    spec = gymcore.make_vec("Both-v0", 3, size=5).spec
    env = gymcore.make_vec(spec, 4, size=6, max_episode_steps=2)
    assert env.spec.kwargs == {
        "size": 6,
        "max_episode_steps": 2,
        "num_envs": 4,
        "vectorization_mode": "vector_entry_point",
    }
    sync = gymcore.make_vec(spec, vectorization_mode="sync", vector_kwargs={"copy": False})
    assert (sync.num_envs, sync.copy, sync.envs[0].unwrapped.size) == (3, False, 5)


@pytest.mark.parametrize("vectorization_mode", ["sync", "native"])
def test_one_environment_is_a_number_that_was_given(vectorization_mode: str) -> None:
    setup(gymcore)
    spec = gymcore.make_vec("Both-v0", 3, vectorization_mode).spec
    assert [gymcore.make_vec(spec, n).num_envs for n in (None, 1, 2)] == [3, 1, 2]


@pytest.mark.parametrize("vectorization_mode", ["sync", "native"])
def test_the_spec_of_a_batch_makes_a_single_environment(vectorization_mode: str) -> None:
    setup(gymcore)
    options = {"copy": False}
    arguments: dict[str, Any] = {"size": 5, "max_episode_steps": 7, "vector_kwargs": options}
    spec = gymcore.make_vec("Both-v0", 3, vectorization_mode, **arguments).spec
    expected = gymcore.make("Both-v0", size=5, max_episode_steps=7)
    for env in (spec.make(), gymcore.make(spec)):
        assert (str(env), env.spec) == (str(expected), expected.spec)
    env = gymcore.make(spec, max_episode_steps=-1, disable_env_checker=True, size=6)
    expected = gymcore.make("Both-v0", max_episode_steps=-1, disable_env_checker=True, size=6)
    assert (str(env), env.spec) == (str(expected), expected.spec)


def test_the_spec_of_a_batch_with_wrappers_makes_a_wrapped_environment() -> None:
    setup(gymcore)
    spec = gymcore.make_vec("Single-v0", 2, wrappers=[gymcore.wrappers.Autoreset]).spec
    assert isinstance(spec.make(), gymcore.wrappers.Autoreset)


@pytest.mark.parametrize("limit", [np.int64(5), np.uint8(5)])
def test_a_time_limit_that_is_a_numpy_integer(limit: Any) -> None:
    setup(gymcore)
    made = gymcore.make("Both-v0", max_episode_steps=limit).spec
    assert made == gymcore.make("Both-v0", max_episode_steps=5).spec
    for mode in ("sync", "native"):
        spec = gymcore.make_vec("Both-v0", 2, mode, max_episode_steps=limit).spec
        assert type(spec.kwargs["max_episode_steps"]) is int
        assert spec.make().spec == made


@pytest.mark.parametrize("id", [5, None, b"Both-v0"])
def test_an_id_of_another_type(id: Any) -> None:
    for make in (gymcore.make, gymcore.make_vec):
        with pytest.raises(gymcore.error.ArgumentTypeError, match=f"id.*{type(id)}"):
            make(id)


def test_round_trip_through_json() -> None:
    fill(gymcore)
    spec = EnvSpec("Single-v0", entry_point="tests.envs.test_making:make_maze")
    envs = gymcore.make_vec(spec, 2, size=4, vector_kwargs={"copy": False})
    again = gymcore.make_vec(EnvSpec.from_json(envs.spec.to_json(), trusted=True))
    assert again.spec == envs.spec
    assert describe(again)[6] == [4, 4]


def test_the_spec_does_not_share_containers_with_the_registry() -> None:
    setup(gymcore)
    gymcore.register("List-v0", entry_point=make_env_class(gymcore), kwargs={"size": [1]})
    env = gymcore.make_vec("List-v0", 2)
    env.spec.kwargs["size"].append(2)
    assert gymcore.spec("List-v0").kwargs == {"size": [1]}


def test_every_argument_is_checked_before_anything_is_made() -> None:
    made = []

    def creator(**kwargs: Any) -> Any:
        made.append(kwargs)
        return make_env_class(gymcore)(**kwargs)

    fill(gymcore)
    gymcore.register("Maze-v0", entry_point=creator)
    for arguments in ({"num_envs": 0}, {"vectorization_mode": "no"}, {"num_envs": "x"}):
        with pytest.raises(gymcore.error.Error):
            gymcore.make_vec("Maze-v0", **arguments)
    assert made == []


class Sized(gymcore.Env):
    """An environment with an argument of the name of an engine's option."""

    observation_space = action_space = gymcore.spaces.Discrete(2)

    def __init__(self, size: int = 3, copy: str = "no", render_mode: str | None = None) -> None:
        self.arguments = size, copy

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[int, dict]:
        return 0, {}


def sized(**kwargs: Any) -> Sized:
    return Sized(**kwargs)


@pytest.fixture
def sizes(registries: None) -> None:
    gymcore.register("Sized-v0", Sized)
    gymcore.register("Any-v0", f"{__name__}:sized")


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["sync", "async", None])
@pytest.mark.parametrize("env_id", ["Sized-v0", "Any-v0", "CartPole-v1"])
def test_autoreset_mode_means_the_same_with_every_engine(sizes, env_id: str, mode: Any) -> None:
    with gymcore.make_vec(env_id, 2, mode, autoreset_mode="SameStep") as envs:
        assert envs.metadata["autoreset_mode"] is gymcore.vector.AutoresetMode.SAME_STEP
        assert "autoreset_mode" not in gymcore.make(envs.spec.id).spec.kwargs
        with gymcore.make_vec(envs.spec) as again:
            assert again.metadata["autoreset_mode"] is envs.metadata["autoreset_mode"]
    with pytest.raises(gymcore.error.InvalidArgument, match="autoreset_mode"):
        options = {"autoreset_mode": "NextStep"}
        gymcore.make_vec(env_id, 2, mode, vector_kwargs=options, autoreset_mode="SameStep")


def test_options_of_the_engine_are_keywords_unless_the_environment_has_them(sizes) -> None:
    envs = gymcore.make_vec("Sized-v0", 2, batch_size=1, copy="yes", size=4)
    assert envs.batch_size == 1 and envs.copy is True
    assert envs.envs[0].unwrapped.arguments == (4, "yes")
    assert gymcore.make_vec("CartPole-v1", 2, "sync", num_threads=1).num_envs == 2


@pytest.mark.parametrize("env_id", ["Sized-v0", "CartPole-v1", "HalfCheetah-v5"])
@pytest.mark.parametrize("mode", ["sync", "async", None])
@pytest.mark.parametrize("place", ["keyword", "vector_kwargs"])
def test_a_misspelt_option_is_told_apart_from_arguments(
    sizes, monkeypatch, env_id: str, mode: Any, place: str
) -> None:
    if env_id == "HalfCheetah-v5":
        pytest.importorskip("mujoco", reason="mujoco is not installed")
    given = {"num_thraeds": 2}
    given = given if place == "keyword" else {"vector_kwargs": given}
    expected = (
        r"got unexpected arguments \['num_thraeds'\]; did you mean num_threads\? Options of the "
        r"engine: .*num_threads, .*\. Arguments of the environment: "
    )
    argument = {"Sized-v0": "size", "CartPole-v1": "gravity", "HalfCheetah-v5": "xml_file"}[env_id]
    with pytest.raises(gymcore.error.ArgumentTypeError, match=f"{expected}.*{argument}"):
        gymcore.make_vec(env_id, 2, mode, **given)
