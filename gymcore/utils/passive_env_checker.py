"""Checks of an environment's spaces and return values while it is used."""

from gymcore.checking.passive import (
    check_action_space,
    check_obs,
    check_observation_space,
    check_space,
    data_shares_objects,
    env_data_reuse_passive_checker,
    env_render_passive_checker,
    env_reset_passive_checker,
    env_step_passive_checker,
)

__all__ = [
    "check_action_space",
    "check_obs",
    "check_observation_space",
    "check_space",
    "data_shares_objects",
    "env_data_reuse_passive_checker",
    "env_render_passive_checker",
    "env_reset_passive_checker",
    "env_step_passive_checker",
]
