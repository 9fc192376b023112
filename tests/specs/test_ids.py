"""Ids: their parts, and texts that are none."""

from __future__ import annotations

from typing import Any

import gymnasium
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gymcore
from gymcore.envs.registration import get_env_id, parse_env_id
from tests.parity import compare

pytestmark = pytest.mark.usefixtures("registries")


@given(st.text(alphabet="aB-v01/:._ é\n[", max_size=12))
def test_parse_any_text_like_gymnasium(text: str) -> None:
    compare(lambda gym: gym.envs.registration.parse_env_id(text))


@given(st.text(alphabet="aB-v01/:._ é\n[", max_size=12))
def test_the_pattern_matches_as_gymnasiums(text: str) -> None:
    parts = ("namespace", "name", "version")
    ours, theirs = (gym.envs.registration.ENV_ID_RE.fullmatch(text) for gym in (gymcore, gymnasium))
    assert (ours and ours.group(*parts)) == (theirs and theirs.group(*parts))


@pytest.mark.parametrize(
    ("env_id", "parts"),
    [
        ("Maze", (None, "Maze", None)),
        ("Maze-v12", (None, "Maze", 12)),
        ("ALE/Pong-v5", ("ALE", "Pong", 5)),
        ("my-games/A.b_c-v0", ("my-games", "A.b_c", 0)),
        ("Maze-v0-v1", (None, "Maze-v0", 1)),
        ("Maze-v", (None, "Maze-v", None)),
    ],
)
def test_parse_and_put_together(env_id: str, parts: tuple[Any, ...]) -> None:
    assert parse_env_id(env_id) == parts
    assert get_env_id(*parts) == env_id


@given(
    st.none() | st.from_regex(r"[a-z][\w-]*", fullmatch=True),
    st.from_regex(r"[A-Za-z_]+", fullmatch=True),
    st.none() | st.integers(0, 99),
)
def test_round_trip(ns: str | None, name: str, version: int | None) -> None:
    assert parse_env_id(get_env_id(ns, name, version)) == (ns, name, version)


@pytest.mark.parametrize("env_id", [3, None, b"Maze-v0", ["Maze-v0"]])
def test_ids_of_a_wrong_type(env_id: Any) -> None:
    compare(lambda gym: gym.envs.registration.parse_env_id(env_id), message=False)
    compare(lambda gym: gym.make(env_id))
    compare(lambda gym: gym.make_vec(env_id))
    compare(lambda gym: gym.register(env_id, entry_point=int), message=False)
    compare(lambda gym: gym.spec(env_id), message=False)
