"""The table of games and the ids, those of ale-py and the older forms, known without ale-py."""

from __future__ import annotations

import contextvars
import os
import subprocess
import sys

import pytest

import gymcore
from gymcore import error
from gymcore.envs.atari import games
from gymcore.specs.registered import keeps_batches
from tests.envs.atari.pairs import ale_py, gymnasium

OURS = {
    id: spec
    for id, spec in gymcore.registry.items()
    if str(spec.entry_point).startswith("gymcore.envs.atari.")
}
THEIRS = {
    id: spec for id, spec in gymnasium.registry.items() if spec.entry_point == "ale_py.env:AtariEnv"
}


def test_the_table_has_every_rom_that_ale_py_ships() -> None:
    from ale_py import roms

    assert sorted([*games.GAMES, *games.GAMES_FOR_SEVERAL]) == sorted(roms.get_all_rom_ids())
    assert set(games.GAMES_OF_V0) < set(games.GAMES)
    for game in games.GAMES:
        path = os.path.join(*ale_py.__path__, "roms", f"{game}.bin")
        assert ale_py.ALEInterface.isSupportedROM(path) == game


def test_ids_and_arguments_are_those_that_ale_py_registers() -> None:
    assert len(THEIRS) > 300
    for id, spec in THEIRS.items():
        ours = OURS[id]
        assert list(ours.kwargs.items()) == list(spec.kwargs.items())
        assert (ours.vector_entry_point is None) == (spec.vector_entry_point is None)
        for field in ("max_episode_steps", "reward_threshold", "nondeterministic"):
            assert getattr(ours, field) == getattr(spec, field)
        for field in ("order_enforce", "disable_env_checker", "additional_wrappers"):
            assert getattr(ours, field) == getattr(spec, field)


def test_other_ids_are_the_forms_that_ale_py_had_before() -> None:
    others = {id: OURS[id].kwargs for id in OURS if id not in THEIRS}
    for id, kwargs in others.items():
        if "Deterministic" in id:
            assert kwargs["frameskip"] == (3 if id.startswith("SpaceInvaders") else 4)
        assert ("-ram" in id) == (kwargs.get("obs_type") == "ram")
        assert "Deterministic" in id or "-ram" in id
        plain = id.replace("-ram", "").replace("Deterministic", "")
        for name in ("game", "repeat_action_probability", "max_num_frames_per_episode"):
            assert kwargs[name] == THEIRS[plain].kwargs[name]
    assert len(others) == 600
    # Two forms of observation for each of three kinds of frames and two versions, and version 5.
    forms = {id.replace("Pong", "") for id in OURS if OURS[id].kwargs["game"] == "pong"}
    assert len(forms) == 14 and {"-ramDeterministic-v4", "NoFrameskip-v0", "ALE/-ram-v5"} <= forms


def test_listing_imports_neither_ale_py_nor_gymnasium() -> None:
    program = """
import sys, gymcore
from gymcore.cli import main
main(["list", "--family", "atari", "--all"])
assert gymcore.spec("ALE/Pong-v5").kwargs["game"] == "pong"
assert not {"ale_py", "gymnasium", "cv2"} & set(sys.modules), "imported"
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert len(ran.stdout.splitlines()) > len(OURS)


def test_a_misspelt_id_gets_a_suggestion() -> None:
    with pytest.raises(error.NameNotFound, match="Did you mean: `Breakout`"):
        gymcore.make("ALE/Brekout-v5")
    with pytest.raises(error.NamespaceNotFound, match="Did you mean: `ALE`"):
        gymcore.make("AEL/Breakout-v5")
    with pytest.raises(error.VersionNotFound, match=r"\[ `v0`, `v4` \]"):
        gymcore.make("Breakout-v5")


def test_batches_that_ale_py_registers_are_ignored_while_gymcore_imports_it(registries) -> None:
    before = gymcore.registry["ALE/Pong-v5"].vector_entry_point
    theirs = {"entry_point": "ale_py.env:AtariEnv", "vector_entry_point": "ale_py.vector_env:A"}

    def register() -> None:
        gymcore.register("ALE/Pong-v5", **theirs)

    def ignoring() -> None:
        keeps_batches.set(True)
        register()

    contextvars.copy_context().run(ignoring)
    assert gymcore.registry["ALE/Pong-v5"].vector_entry_point == before
    try:
        register()  # a program imports it
        assert gymcore.registry["ALE/Pong-v5"].vector_entry_point == "ale_py.vector_env:A"
    finally:
        gymcore.registry["ALE/Pong-v5"].vector_entry_point = before
