"""Every id of minigrid except its WFC mazes: equal seeds and actions give the same bits."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest

import gymcore

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pytest.importorskip("minigrid")
from minigrid.utils.baby_ai_bot import BabyAIBot

IDS = sorted(
    id
    for id, spec in gymnasium.registry.items()
    if str(spec.entry_point).startswith("minigrid.envs") and "-WFC-" not in id
)
BABYAI_IDS = [id for id in IDS if id.startswith("BabyAI-")]
TOGGLE, FORWARD, PICKUP, DROP = 5, 2, 3, 4

Policy = Callable[[], int]


class Bot(BabyAIBot):
    """BabyAI's bot, which gives up instead of planning forever."""

    def replan(self, action_taken: int | None = None) -> int:
        self.searches = 0
        return int(super().replan(action_taken))

    def _shortest_path(self, *args: Any, **kwargs: Any) -> Any:
        self.searches += 1
        assert self.searches < 50
        return super()._shortest_path(*args, **kwargs)


def random_policy(env: Any, rng: np.random.Generator) -> Policy:
    """Return a policy that draws every action."""
    return lambda: int(rng.integers(env.action_space.n))


def exploring_policy(env: Any, rng: np.random.Generator) -> Policy:
    """Return a policy that mostly walks, opens doors, and carries objects around."""

    def act() -> int:
        cell, chance = env.grid.get(*env.front_pos), rng.random()
        if env.action_space.n <= PICKUP:
            return int(rng.integers(env.action_space.n))
        if cell is not None and cell.type == "door" and not cell.is_open and chance < 0.6:
            return TOGGLE
        if cell is not None and cell.can_pickup() and chance < 0.4:
            return PICKUP
        if cell is None and env.carrying is not None and chance < 0.2:
            return DROP
        return FORWARD if chance < 0.75 else int(rng.integers(7))

    return act


def bot_policy(env: Any, rng: np.random.Generator) -> Policy:
    """Return BabyAI's bot, and a policy that explores from where the bot gives up."""
    explore = exploring_policy(env, rng)
    bot: Bot | None = Bot(env)
    last: int | None = None

    def act() -> int:
        nonlocal bot, last
        if bot is not None:
            try:
                last = bot.replan(last)
                return last
            except Exception:  # of many kinds: for example, it cannot handle boxes that are gone
                bot = None
        return explore()

    return act


def same_observation(ours: dict[str, Any], theirs: dict[str, Any]) -> bool:
    """Return whether two observations agree, including the types of their images."""
    return (
        ours["image"].dtype == theirs["image"].dtype
        and np.array_equal(ours["image"], theirs["image"])
        and ours["direction"] == theirs["direction"]
        and ours["mission"] == theirs["mission"]
    )


def check_episodes(
    id: str,
    make_policy: Callable[[Any, np.random.Generator], Policy],
    count: int,
    limit: int = 1 << 30,
    **kwargs: Any,
) -> None:
    """Compare episodes; every other one is seeded."""
    ours = gymcore.make(id, **kwargs)
    theirs = gymnasium.make(id, disable_env_checker=True, **kwargs).unwrapped
    rng = np.random.default_rng(1)
    for episode in range(count):
        seed = None if episode % 2 else episode
        observation, _ = ours.reset(seed=seed)
        with contextlib.redirect_stdout(io.StringIO()):  # it prints the levels that it rejects
            their_observation, _ = theirs.reset(seed=seed)
        assert same_observation(observation, their_observation), (episode, 0)
        assert ours.unwrapped.steps_remaining == theirs.steps_remaining, episode
        act = make_policy(theirs, rng)
        for step in range(1, limit + 1):
            action = act()
            observation, *ends, _ = ours.step(action)
            their_observation, *their_ends, _ = theirs.step(action)
            assert same_observation(observation, their_observation), (episode, step)
            assert ends == their_ends, (episode, step)
            if step == 1:  # some agents get their object after the first observation
                grids = ours.unwrapped.grid.encode(), theirs.grid.encode()
                assert np.array_equal(*grids), (episode, step)
            if their_ends[1] or their_ends[2]:
                break
    ours.close()


POLICIES = [(id, policy) for id in IDS for policy in (random_policy, exploring_policy)] + [
    (id, bot_policy) for id in BABYAI_IDS
]
pytestmark = pytest.mark.filterwarnings("ignore:.*is out of date")
cases = pytest.mark.parametrize(
    ("id", "make_policy"), POLICIES, ids=[f"{id}-{policy.__name__}" for id, policy in POLICIES]
)


def test_all_ids_are_registered() -> None:
    assert len(IDS) == 172 and len(BABYAI_IDS) == 96
    assert set(IDS) <= gymcore.registry.keys()


@cases
def test_first_steps(id: str, make_policy: Callable[[Any, np.random.Generator], Policy]) -> None:
    check_episodes(id, make_policy, count=2, limit=40)


@pytest.mark.parametrize(
    ("id", "kwargs"),
    [
        ("BossLevel", {"num_dists": 30, "num_rows": 2, "num_cols": 4, "room_size": 6}),
        ("BossLevel", {"action_kinds": ("putnext",), "instr_kinds": ("seq", "and")}),
        ("BossLevel", {"implicit_unlock": False, "locked_room_prob": 1.0, "num_dists": 6}),
        ("SynthLoc", {"action_kinds": ("open", "goto", "open"), "max_steps": 40}),
        ("MiniBossLevel", {"instr_kinds": ("seq",), "action_kinds": ("putnext", "pickup")}),
        ("OpenDoor", {"debug": True, "select_by": "loc"}),
        ("OpenTwoDoors", {"second_color": "grey", "strict": True}),
        ("KeyCorridor", {"obj_type": "box", "num_rows": 4, "room_size": 4}),
        ("Unlock", {"num_rows": 2, "num_cols": 2}),
        ("GoTo", {"room_size": 5, "num_rows": 1, "num_cols": 4, "num_dists": 6}),
        ("UnblockPickup", {"room_size": 6}),
        ("PutNextS5N2", {"room_size": 9, "objs_per_room": 9, "start_carrying": True}),
        ("GoToRedBallGrey", {"room_size": 10, "num_dists": 20}),
    ],
)
def test_arguments_of_babyai(id: str, kwargs: dict[str, Any]) -> None:
    check_episodes(f"BabyAI-{id}-v0", exploring_policy, count=6, limit=60, **kwargs)


@pytest.mark.soak
@pytest.mark.timeout(3600)
@cases
def test_whole_episodes(id: str, make_policy: Callable[[Any, np.random.Generator], Policy]) -> None:
    check_episodes(id, make_policy, count=200)
