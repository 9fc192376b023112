"""A check that two environments return the same results, step by step."""

from __future__ import annotations

from gymcore import error
from gymcore.checking.data import data_equivalence
from gymcore.core import Env, Info

__all__ = ["check_environments_match"]

_COMPARISONS = ("equivalence", "superset", "keys-equivalence", "keys-superset", "skip")


def _check(condition: bool, message: str) -> None:
    if not condition:
        raise error.FailedCheck(message)


def check_environments_match(
    env_a: Env,
    env_b: Env,
    num_steps: int,
    seed: int = 0,
    skip_obs: bool = False,
    skip_rew: bool = False,
    skip_terminal: bool = False,
    skip_truncated: bool = False,
    skip_render: bool = False,
    info_comparison: str = "equivalence",
) -> None:
    """Check that two environments return the same results for the same random actions.

    Both are reset with `seed`, also after each episode. `data_equivalence` compares results.

    Args:
        env_a: One environment; its action space is seeded and sampled.
        env_b: The other.
        num_steps: Number of steps.
        seed: Seed of the environments and of the actions.
        skip_obs: Whether to skip observations and their spaces.
        skip_rew: Whether to skip rewards.
        skip_terminal: Whether to skip `terminated`.
        skip_truncated: Whether to skip `truncated`.
        skip_render: Whether to skip frames. Otherwise they are compared if both environments have
            the same render mode, and it is not None or "human".
        info_comparison: "equivalence": infos are equal; "superset": the info of `env_b` contains
            that of `env_a`; "keys-equivalence": infos have the same keys; "keys-superset": the info
            of `env_b` has all keys of that of `env_a`; "skip": infos are not compared.

    Raises:
        FailedCheck: If results differ (the message has the step and both values), or
            `info_comparison` is none of the above. Also an `AssertionError`.

    Examples:
        >>> import gymcore
        >>> one, other = gymcore.make("CartPole-v1"), gymcore.make("CartPole-v1")
        >>> check_environments_match(one, other, num_steps=50, seed=3)
    """
    if info_comparison not in _COMPARISONS:
        raise error.FailedCheck(
            f"info_comparison: expected one of {', '.join(_COMPARISONS)}, got {info_comparison!r}"
        )
    for name, env in (("env_a", env_a), ("env_b", env_b)):
        if not isinstance(env, Env):
            raise error.FailedTypeCheck(f"{name}: expected a gymcore.Env, got {type(env)}")
    _check(
        env_a.action_space == env_b.action_space,
        f"action spaces are not equal, env_a has {env_a.action_space}, "
        f"env_b has {env_b.action_space}",
    )
    _check(
        skip_obs or env_a.observation_space == env_b.observation_space,
        f"observation spaces are not equal, env_a has {env_a.observation_space}, "
        f"env_b has {env_b.observation_space}",
    )
    renders = (
        not skip_render
        and env_a.render_mode == env_b.render_mode
        and env_a.render_mode not in (None, "human")
    )

    env_a.action_space.seed(seed)

    def reset() -> None:
        observation_a, info_a = env_a.reset(seed=seed)
        observation_b, info_b = env_b.reset(seed=seed)
        if not skip_obs:
            _compare("resetting observation", "", "observation", observation_a, observation_b)
        _compare_infos("resetting", "", info_comparison, info_a, info_b)
        if renders:
            _compare_frames("resetting", "", env_a, env_b)

    skipped = (skip_obs, skip_rew, skip_terminal, skip_truncated)
    names = ("observation", "reward", "terminal", "truncated")
    reset()
    for step in range(num_steps):
        action = env_a.action_space.sample()
        results_a, results_b = env_a.step(action), env_b.step(action)
        where = f" in step = {step}"
        for name, skip, value_a, value_b in zip(names, skipped, results_a, results_b, strict=False):
            if not skip:
                _compare(f"stepping {name}", where, name, value_a, value_b)
        _compare_infos("stepping", where, info_comparison, results_a[4], results_b[4])
        if renders:
            _compare_frames("stepping", where, env_a, env_b)
        if any(results_a[2:4]) or any(results_b[2:4]):
            reset()


def _compare(what: str, where: str, name: str, value_a: object, value_b: object) -> None:
    _check(
        data_equivalence(value_a, value_b),
        f"{what} is not equivalent{where}, {name}_a = {value_a}, {name}_b = {value_b}",
    )


def _compare_frames(call: str, where: str, env_a: Env, env_b: Env) -> None:
    _check(
        data_equivalence(env_a.render(), env_b.render()),
        f"{call} render is not equivalent{where}",
    )


def _compare_infos(call: str, where: str, comparison: str, info_a: Info, info_b: Info) -> None:
    if comparison == "equivalence":
        _compare(f"{call} info", where, "info", info_a, info_b)
    elif comparison == "superset":
        for key in info_a:
            _check(
                key in info_b,
                f"{call} info is not a superset{where}, key {key} present in info_a is missing "
                "in info_b",
            )
            _check(
                data_equivalence(info_a[key], info_b[key]),
                f"{call} info is not a superset{where}, key {key} present in info_a with value = "
                f"{info_a[key]}, in info_b with value = {info_b[key]}",
            )
    elif comparison == "keys-equivalence":
        _check(
            info_a.keys() == info_b.keys(),
            f"{call} info keys are not equivalent{where}, info_a's keys are {info_a.keys()}, "
            f"info_b's keys are {info_b.keys()}",
        )
    elif comparison == "keys-superset":
        _check(
            info_a.keys() <= info_b.keys(),
            f"{call} info keys are not a superset{where}, keys not present in info_b are: "
            f"{info_a.keys() - info_b.keys()}",
        )
