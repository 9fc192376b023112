"""The bars of the Atari environments: one game with the standard preprocessing, and batches."""

from __future__ import annotations

from functools import partial

from bars import Bar, Group, Measured, at_most, name, ratio

IDS = ("ALE/Pong-v5", "ALE/Breakout-v5")

#: The processes of the contenders, which `peers.py` identifies by library.
LIBRARIES = {
    "gymcore-atari": "gymcore",
    "gymnasium-atari": "gymnasium",
    "gymcore-games": "gymcore",
    "gymcore-games-same": "gymcore",
    "gymcore-games-in-play": "gymcore",
    "gymcore-games-get-state": "gymcore",
    "gymcore-games-set-state": "gymcore",
    "ale-games": "ale_py",
    "envpool-games": "envpool",
    "gymnasium-games": "gymnasium",
}
LANES = 64
#: Batch sizes whose rates differ by at most a tenth.
SIZES = (8, 64, 512)


def atari_bars(threads: int) -> list[Bar]:
    """Return the bars for a machine with this many usable threads."""
    bars = []
    for env_id in IDS:
        ours, other = (name(key, 1, env_id) for key in ("gymcore-atari", "gymnasium-atari"))
        bars.append(ratio(f"AtariPreprocessing({env_id}).step / Gymnasium", ours, [other], 1.3))
        ours = name("gymcore-games", LANES, env_id, threads)
        for key, label, minimum in (
            ("ale-games", "ale-py's AtariVectorEnv", 0.98),
            ("envpool-games", "EnvPool sync", 1.0),
            ("gymnasium-games", "SyncVectorEnv", 2.8),
        ):
            others = [name(key, LANES, env_id, 1 if key == "gymnasium-games" else threads)]
            bars.append(ratio(f"{env_id} n={LANES} / {label}", ours, others, minimum))
        same = name("gymcore-games-same", LANES, env_id, threads)
        bars.append(ratio(f"{env_id} n={LANES}, same-step / next-step", same, [ours], 0.95))
    for call in ("get", "set"):
        state = name(f"gymcore-games-{call}-state", LANES, IDS[0], threads)
        label = f"{call}_state of {LANES} games"
        bars.append(at_most(label, 3, "ms", 1e3 * LANES, partial(Measured.step, name=state)))
    sizes = [name("gymcore-games-in-play", size, IDS[0], threads) for size in SIZES]

    def spread(measured: Measured) -> float:
        costs = [measured.step(each) for each in sizes]
        return max(costs) / min(costs)

    bars.append(at_most(f"{IDS[0]}, slowest / fastest of n={SIZES}", 1.1, "x", 1.0, spread))
    return bars


def atari_groups(threads: int) -> list[Group]:
    """Return the measurements needed for the bars."""
    groups = []
    for env_id in IDS:
        members = [(key, env_id, 1, 1) for key in ("gymcore-atari", "gymnasium-atari")]
        groups.append(Group(f"{env_id.removeprefix('ALE/')}-single", tuple(members)))
        keys = ("gymcore-games", "gymcore-games-same", "ale-games", "envpool-games")
        members = [(key, env_id, LANES, threads) for key in keys]
        members.append(("gymnasium-games", env_id, LANES, 1))
        if env_id == IDS[0]:
            for call in ("get", "set"):
                members.append((f"gymcore-games-{call}-state", env_id, LANES, threads))
        groups.append(Group(f"{env_id.removeprefix('ALE/')}-batch", tuple(members)))
    sizes = [("gymcore-games-in-play", IDS[0], size, threads) for size in SIZES]
    return [*groups, Group("Pong-v5-growth", tuple(sizes))]
