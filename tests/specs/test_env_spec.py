"""EnvSpec and WrapperSpec: fields, copies, text and JSON."""

from __future__ import annotations

import copy
import dataclasses
import importlib
import json
import pickle
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gymcore
from gymcore.compat import gym26
from gymcore.envs.registration import EnvSpec, WrapperSpec
from gymcore.error import InvalidArgument
from tests.parity import compare

plain_json = st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3)
json_values = st.recursive(
    plain_json, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner)
)
kwargs = st.dictionaries(st.from_regex("[a-z]+", fullmatch=True), json_values, max_size=2)
places = st.none() | st.just("games.mazes:Maze")
fields = st.fixed_dictionaries(
    {"id": st.sampled_from(["Maze", "Maze-v3", "games/Maze-v10"])},
    optional={
        "entry_point": places,
        "vector_entry_point": places,
        "reward_threshold": st.none() | st.floats(-9, 9),
        "nondeterministic": st.booleans(),
        "max_episode_steps": st.none() | st.integers(1, 99),
        "order_enforce": st.booleans(),
        "disable_env_checker": st.booleans(),
        "kwargs": kwargs,
    },
)
wrappers = st.lists(st.tuples(st.text(max_size=3), places.map(str), st.none() | kwargs), max_size=2)


def make_spec(gym: ModuleType, fields: dict[str, Any], wrappers: list[Any]) -> Any:
    registration = gym.envs.registration
    wrapper_specs = tuple(registration.WrapperSpec(*wrapper) for wrapper in wrappers)
    return registration.EnvSpec(**fields, additional_wrappers=wrapper_specs)


def test_fields_like_gymnasium() -> None:
    def scenario(gym: ModuleType) -> Any:
        registration = gym.envs.registration
        return [
            (f.name, f.init, f.repr, f.compare, str(f.type))
            for cls in (registration.EnvSpec, registration.WrapperSpec)
            for f in dataclasses.fields(cls)
            if f.name not in ("compiled", "trusted")  # gymcore's own
        ]

    compare(scenario)


@settings(max_examples=25, deadline=None)
@given(fields, wrappers)
def test_text_and_json_like_gymnasium(fields: dict[str, Any], wrappers: list[Any]) -> None:
    def scenario(gym: ModuleType) -> list[Any]:
        spec = make_spec(gym, fields, wrappers)
        text = spec.to_json()
        again = gym.envs.registration.EnvSpec.from_json(text)
        printed = [
            spec.pprint(disable_print=True, include_entry_points=places, print_all=everything)
            for places in (False, True)
            for everything in (False, True)
        ]
        return [spec, text, again, again == spec, *printed]

    assert compare(scenario).value[3]


def test_pprint_prints(capsys: pytest.CaptureFixture[str]) -> None:
    assert EnvSpec("Maze-v0", max_episode_steps=5).pprint() is None
    assert capsys.readouterr().out == "id=Maze-v0\nmax_episode_steps=5\n"


@pytest.mark.parametrize("arguments", [{}, {"id": "Maze v0"}, {"id": 3}, {"id": "A", "no": 1}])
def test_bad_specs(arguments: dict[str, Any]) -> None:
    compare(lambda gym: gym.envs.registration.EnvSpec(**arguments), message="id" not in arguments)


def test_not_hashable() -> None:
    compare(lambda gym: hash(gym.envs.registration.EnvSpec("Maze-v0")))


# JSON


@pytest.mark.parametrize("name", ["entry_point", "vector_entry_point"])
def test_a_class_as_entry_point_is_not_written(name: str) -> None:
    def scenario(gym: ModuleType) -> str:
        spec = gym.envs.registration.EnvSpec("Maze-v0", **{name: int})
        return str(spec.to_json())

    compare(scenario)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"kwargs": {"size": 3, "walls": np.zeros(2)}}, r"kwargs\['walls'\] = array\(\[0., 0.\]\)"),
        ({"kwargs": {"f": int}}, r"kwargs\['f'\] = <class 'int'>"),
        (
            {
                "additional_wrappers": (
                    WrapperSpec("A", "a:A", None),
                    WrapperSpec("B", "b:B", {"f": 1j}),
                )
            },
            r"B kwargs\['f'\] = 1j",
        ),
    ],
)
def test_what_cannot_be_written_is_named(changes: dict[str, Any], named: str) -> None:
    spec = EnvSpec("Maze-v0", entry_point="a:B", **changes)
    with pytest.raises(TypeError, match=rf"{named} of Maze-v0 cannot be written as JSON"):
        spec.to_json()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "expected a JSON object, got '\\[\\]'"),
        ("{}", "an EnvSpec"),
        ('{"id": "A-v0", "color": 1}', "an EnvSpec"),
        ('{"id": "A-v0", "trusted": true}', "an EnvSpec"),
        ('{"id": "A-v0", "additional_wrappers": [{"name": "a"}]}', "{'name': 'a'} a WrapperSpec"),
        ('{"id": "A-v0", "entry_point": []}', "^entry_point: expected"),
        ('{"id": "A-v0", "kwargs": [1]}', "^kwargs: expected"),
        ('{"id": "A-v0", "max_episode_steps": "9"}', "^max_episode_steps: expected"),
        (
            '{"id": "A", "additional_wrappers": [{"name": 1, "entry_point": "a:B", "kwargs": {}}]}',
            "^additional_wrappers: name: expected",
        ),
    ],
)
def test_json_that_is_no_spec(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        EnvSpec.from_json(text)


@pytest.mark.parametrize("name", ["gymcore.no_module:A", "gymcore.core:NoClass"])
def test_json_that_names_nothing(name: str) -> None:
    spec = EnvSpec.from_json(json.dumps({"id": "A-v0", "entry_point": name}))
    with pytest.raises(gymcore.error.InvalidArgument, match="in JSON is neither registered nor"):
        gymcore.make(spec)


@pytest.mark.parametrize("wrong", [{"vector_kwargs": 1}, {"wrappers": 1}, {"wrappers": ["a"]}])
def test_json_with_wrong_arguments_of_batches(wrong: dict[str, Any]) -> None:
    written = json.loads(gymcore.spec("CartPole-v1").to_json())
    spec = EnvSpec.from_json(json.dumps({**written, "kwargs": wrong}))
    with pytest.raises(gymcore.error.ArgumentTypeError, match=f"{next(iter(wrong))}: expected"):
        gymcore.make_vec(spec)


def test_broken_json_like_gymnasium() -> None:
    for text in ("nope", '{"id": "A v0", "additional_wrappers": []}'):
        compare(lambda gym, text=text: gym.envs.registration.EnvSpec.from_json(text))
    compare(lambda gym: gym.envs.registration.EnvSpec.from_json(3))


def test_missing_fields_take_their_defaults() -> None:
    assert EnvSpec.from_json('{"id": "A-v0"}') == EnvSpec("A-v0")


def test_json_has_no_derived_fields() -> None:
    written = json.loads(EnvSpec("games/Maze-v3", entry_point="a:B").to_json())
    assert not {"namespace", "name", "version"} & set(written)


# Copies


def test_copy() -> None:
    model, sizes = object(), [1, 2]
    wrapper = WrapperSpec("A", "a:A", {"sizes": sizes, "model": model})
    spec = EnvSpec("Maze-v3", kwargs={"sizes": sizes}, additional_wrappers=(wrapper,))
    again = spec.copy(max_episode_steps=9)
    sizes.append(3)
    assert (again.id, again.version, again.max_episode_steps) == ("Maze-v3", 3, 9)
    assert spec.max_episode_steps is None
    assert again.kwargs == {"sizes": [1, 2]}
    assert again.additional_wrappers[0].kwargs == {"sizes": [1, 2], "model": model}
    assert again.additional_wrappers[0].kwargs["model"] is model


def test_copy_keeps_the_class() -> None:
    @dataclasses.dataclass
    class ScoredSpec(EnvSpec):
        score: float = 0.0

    again = ScoredSpec("Maze-v0", score=2.0).copy(order_enforce=False)
    assert isinstance(again, ScoredSpec)
    assert (again.score, again.order_enforce) == (2.0, False)


def test_pickle_and_deepcopy() -> None:
    spec = EnvSpec("games/Maze-v3", entry_point="a:B", kwargs={"a": [1]})
    assert pickle.loads(pickle.dumps(spec)) == copy.deepcopy(spec) == spec


def test_make(registries: None) -> None:
    env = gymcore.spec("CartPole-v1").make(max_episode_steps=7)
    assert env.spec is not None
    assert env.spec.max_episode_steps == 7


# Trust


def call_me(**kwargs: Any) -> gymcore.Env[Any, Any]:
    """An entry point that must not be called."""
    CALLED.append(kwargs)
    return gymcore.make("CartPole-v1")


CALLED: list[Any] = []
HERE = f"{__name__}:call_me"


def test_specs_from_json_call_only_environments_and_registered_entry_points() -> None:
    wrapper = {"name": "W", "entry_point": HERE, "kwargs": {}}
    cart_pole = gymcore.spec("CartPole-v1").entry_point
    for fields in (
        {"id": "A-v0", "entry_point": HERE},
        {"id": "A-v0", "entry_point": "os:system", "kwargs": {"command": "exit"}},
        {"id": "A-v0", "entry_point": "builtins:dict"},
        {"id": "CartPole-v1", "entry_point": cart_pole, "additional_wrappers": [wrapper]},
    ):
        read = EnvSpec.from_json(json.dumps(fields))
        copies = [read.copy(), copy.deepcopy(read), pickle.loads(pickle.dumps(read))]
        for spec in (read, *copies, dataclasses.replace(read)):
            assert not spec.trusted
            with pytest.raises(InvalidArgument, match=r"in JSON is neither registered nor a class"):
                gymcore.make(spec)
            with pytest.raises(InvalidArgument, match="derived from"):
                gymcore.make_vec(spec, vectorization_mode="sync")
            with pytest.raises(InvalidArgument, match="derived from"):
                gym26.make(spec, apply_api_compatibility="additional_wrappers" not in fields)
    spec = EnvSpec.from_json(json.dumps({"id": "A-v0", "vector_entry_point": HERE}))
    with pytest.raises(InvalidArgument, match="derived from VectorEnv"):
        gymcore.make_vec(spec)
    assert not CALLED


def test_specs_from_json_import_only_what_is_registered_or_of_gymcore(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = tmp_path / "far_maze.py"
    module.write_text("import gymcore\nclass Maze(gymcore.Env): pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    spec = EnvSpec.from_json('{"id": "FarMaze-v0", "entry_point": "far_maze:Maze"}')
    with pytest.raises(InvalidArgument, match="import it, or allow anything"):
        gymcore.make(spec, disable_env_checker=True)
    assert "far_maze" not in sys.modules
    try:
        importlib.import_module("far_maze")
        gymcore.make(spec, disable_env_checker=True)
        del sys.modules["far_maze"]
        gymcore.register("FarMaze-v0", "far_maze:Maze")
        gymcore.make(spec, disable_env_checker=True)
    finally:
        gymcore.registry.pop("FarMaze-v0", None)
        sys.modules.pop("far_maze", None)


def test_trusted_and_registered_specs_from_json_call_functions() -> None:
    text = json.dumps({"id": "CallMe-v0", "entry_point": HERE, "disable_env_checker": True})
    for spec in (EnvSpec.from_json(text, trusted=True), EnvSpec("CallMe-v0", HERE)):
        gymcore.make(spec).close()
    gymcore.register("CallMe-v0", HERE)
    try:
        gymcore.make(EnvSpec.from_json(text), max_episode_steps=3).close()
        assert CALLED == [{}, {}, {}]
    finally:
        del gymcore.registry["CallMe-v0"]
        CALLED.clear()


def test_specs_from_json_make_classes_of_environments() -> None:
    spec = {"id": "A-v0", "entry_point": "gymcore.envs.box2d.lunar_lander:LunarLander"}
    gymcore.make(EnvSpec.from_json(json.dumps(spec))).close()
