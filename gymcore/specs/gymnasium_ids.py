"""Ids of environments that are registered with Gymnasium, which need not be installed."""

from __future__ import annotations

import dataclasses
import importlib
import sys
from typing import TYPE_CHECKING

from gymcore import error
from gymcore.base.optional_packages import pip_install
from gymcore.specs.env_spec import EnvSpec

if TYPE_CHECKING:
    from gymnasium.envs.registration import EnvSpec as GymnasiumSpec

GYMNASIUM = "gymnasium:"
"""The prefix of ids of environments that are registered with Gymnasium."""


def from_gymnasium_spec(foreign: GymnasiumSpec | EnvSpec | None) -> EnvSpec | None:
    """Convert a Gymnasium spec to a gymcore spec, whose id begins with "gymnasium:".

    The result is None for None, and for a spec with wrappers, because the wrappers only accept
    Gymnasium's classes. A gymcore spec (under the alias) is returned unchanged.
    """
    if foreign is None or isinstance(foreign, EnvSpec):
        return foreign
    if foreign.additional_wrappers:
        return None
    field_names = {field.name for field in dataclasses.fields(EnvSpec) if field.init}
    fields = {name: value for name, value in vars(foreign).items() if name in field_names}
    fields.update(id=GYMNASIUM + foreign.id, kwargs=dict(foreign.kwargs), vector_entry_point=None)
    return EnvSpec(**fields)


def is_gymnasium_id(env_id: str) -> bool:
    """Return whether the program has imported Gymnasium and its registry contains this id."""
    registration = sys.modules.get("gymnasium.envs.registration")
    return registration is not None and env_id in registration.registry


def gymnasium_spec(name: str) -> EnvSpec:
    """Return the spec of "gymnasium:name", from Gymnasium's registry."""
    env_id = GYMNASIUM + name
    try:
        registration = importlib.import_module("gymnasium.envs.registration")
    except ModuleNotFoundError as missing:
        raise error.DependencyNotInstalled(
            f"{env_id} is made by the package gymnasium: run `{pip_install('gymnasium')}`"
        ) from missing
    try:
        foreign = registration.spec(name)
    except registration.error.Error as problem:
        raise error.UnregisteredEnv(f"{env_id}: Gymnasium has no such id: {problem}") from problem
    spec = from_gymnasium_spec(foreign)
    if spec is None:
        raise error.Error(
            f"{env_id} is registered with wrappers: make it with gymnasium.make, and convert "
            "it with gymcore.interop.gymnasium.from_gymnasium"
        )
    return spec
