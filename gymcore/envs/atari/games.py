"""The Atari games that ale-py ships, and their ids: known without importing ale-py."""

from __future__ import annotations

from collections.abc import Iterator

GAMES_OF_V0 = (  # noqa: SIM905 - a list would take 60 lines
    "adventure air_raid alien amidar assault asterix asteroids atlantis bank_heist battle_zone "
    "beam_rider berzerk bowling boxing breakout carnival centipede chopper_command crazy_climber "
    "defender demon_attack double_dunk elevator_action enduro fishing_derby freeway frostbite "
    "gopher gravitar hero ice_hockey jamesbond journey_escape kangaroo krull kung_fu_master "
    "montezuma_revenge ms_pacman name_this_game phoenix pitfall pong pooyan private_eye qbert "
    "riverraid road_runner robotank seaquest skiing solaris space_invaders star_gunner tennis "
    "time_pilot tutankham up_n_down venture video_pinball wizard_of_wor yars_revenge zaxxon"
).split()
"""Games that have ids of versions 0 and 4, by the names of their ROMs."""

GAMES = sorted(
    GAMES_OF_V0
    + (  # noqa: SIM905
        "atlantis2 backgammon basic_math blackjack casino crossbow darkchambers donkey_kong "
        "earthworld entombed et flag_capture frogger galaxian hangman haunted_house "
        "human_cannonball kaboom keystone_kapers king_kong klax koolaid laser_gates lost_luggage "
        "mario_bros miniature_golf mr_do othello pacman pitfall2 sir_lancelot space_war superman "
        "surround tetris tic_tac_toe_3d trondead turmoil video_checkers video_chess video_cube "
        "word_zapper"
    ).split()
)
"""Games that one player can play, by the names of their ROMs."""

NOT_RESTORED = ("miniature_golf",)
"""Games whose states ALE does not restore: it writes some of their numbers as booleans."""

GAMES_FOR_SEVERAL = ("combat", "joust", "maze_craze", "warlords")
"""Games whose ROMs ale-py ships for several players (PettingZoo); it cannot run them for one."""


def title(game: str) -> str:
    """Return the name that a game has in ids.

    Examples:
        >>> title("space_invaders")
        'SpaceInvaders'
    """
    return game.title().replace("_", "")


def environment_ids() -> Iterator[tuple[str, dict[str, object]]]:
    """Yield the id and the arguments of every Atari environment.

    Version 5 is that of ale-py and Gymnasium. Versions 0 (with sticky actions) and 4 (without) are
    the older names; ale-py no longer has their Deterministic and "-ram" forms, nor "-ram-v5", but
    published code does. All episodes are at most 108,000 frames long: half an hour.
    """
    for observed, obs_type in (("", {}), ("-ram", {"obs_type": "ram"})):
        for game in GAMES:
            yield f"ALE/{title(game)}{observed}-v5", _arguments(game, 0.25, 4) | obs_type
        for game in GAMES_OF_V0:
            # Every fourth frame of Space Invaders would never show the shots, because they blink.
            fixed = 3 if game == "space_invaders" else 4
            for form, frameskip in (("", (2, 5)), ("Deterministic", fixed), ("NoFrameskip", 1)):
                name = f"{title(game)}{observed}{form}"
                yield f"{name}-v0", _arguments(game, 0.25, frameskip) | obs_type
                yield f"{name}-v4", _arguments(game, 0.0, frameskip) | obs_type


def _arguments(game: str, sticky: float, frameskip: int | tuple[int, int]) -> dict[str, object]:
    return {
        "game": game,
        "repeat_action_probability": sticky,
        "full_action_space": False,
        "frameskip": frameskip,
        "max_num_frames_per_episode": 108_000,
    }
