"""Attributes of the lanes of a compiled batch: what `call`, `get_attr` and `set_attr` do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gymcore import error
from gymcore.native.parameters import write_parameter
from gymcore.native.state import as_states, write_states

if TYPE_CHECKING:
    from gymcore.native.env import NativeEnv
    from gymcore.native.vector_env import NativeVectorEnv

_FOR_THE_BATCH = ("reset", "step", "close", "set_state")


def shown(lanes: npt.NDArray[Any]) -> str:
    """The first of some lanes, for a message."""
    return f"[{', '.join(map(str, lanes[:8].tolist()))}{', ...' if len(lanes) > 8 else ''}]"


def lane_envs(envs: NativeVectorEnv) -> Iterator[NativeEnv[Any]]:
    """Every lane as an environment to look at, one after another."""
    seeds = envs.np_random_seed
    elapsed = envs._batch.view_lifecycle()[1]  # of lanes that have just been reset: 0
    for lane in range(envs.num_envs):
        env = envs.env_class.lane_of(envs, lane, seeds[lane])
        if envs._last_actions is not None and elapsed[lane]:
            env._acted(envs._last_actions[lane])
        yield env


def call_lanes(envs: NativeVectorEnv, name: str, args: Any, kwargs: Any) -> tuple[Any, ...]:
    """Read an attribute of every lane, or call a method of it; see `NativeVectorEnv.call`."""
    if name in _FOR_THE_BATCH:
        raise error.InvalidArgument(
            f"name: call {name}() of the vector environment, not of its lanes"
        )
    # What is an array already needs no object a lane.
    if name in envs.env_class.parameters:
        parameter = envs.env_class.parameters[name]
        values = envs._batch.get_parameters()[parameter.rows(envs._facts)]
        columns = np.broadcast_to(values, (len(values), envs.num_envs)).T.tolist()
        return tuple(parameter.decode(column) for column in columns)
    if name == "state":
        if not envs._batch.is_ready:
            return (None,) * envs.num_envs
        return tuple(np.ascontiguousarray(envs._batch.view_state().T))
    found = [getattr(env, name) for env in lane_envs(envs)]
    return tuple(one(*args, **kwargs) if callable(one) else one for one in found)


def set_lanes(envs: NativeVectorEnv, name: str, values: Any) -> None:
    """Set an attribute of every lane; see `NativeVectorEnv.set_attr`."""
    env_class = envs.env_class
    # One value of these is an array itself.
    has_columns = name in env_class.parameters and len(env_class.parameters[name].columns) > 1
    one_value_ndim = 1 if has_columns or name == "state" else 0
    is_list = isinstance(values, (list, tuple)) and not (has_columns and np.ndim(values) == 1)
    if is_list or np.ndim(values) > one_value_ndim:
        if len(values) != envs.num_envs:
            raise error.InvalidArgument(
                f"{name}: Values must be a list or tuple with length equal to the number of "
                f"environments. Got `{len(values)}` values for {envs.num_envs} environments."
            )
        per_lane = list(values)
    elif name in env_class.parameters:
        write_parameter(envs._batch, envs._facts, env_class.parameters[name], [values], None)
        return
    else:
        per_lane = [values] * envs.num_envs

    if name in env_class.parameters:
        parameter = env_class.parameters[name]
        write_parameter(envs._batch, envs._facts, parameter, per_lane, range(envs.num_envs))
    elif name == "state":
        states = as_states(per_lane, envs._facts)
        envs._seeds.ensure()  # for the episodes after this one
        write_states(envs._batch, states, np.arange(envs.num_envs))
    elif name == "np_random":
        _set_streams(envs, per_lane)
    elif name in env_class.settable:
        lanes = list(lane_envs(envs))
        before = [getattr(env, name) for env in lanes]
        for lane, value in enumerate(per_lane):
            try:
                setattr(lanes[lane], name, value)
            except Exception:
                for env, old in zip(lanes[:lane], before, strict=False):
                    setattr(env, name, old)
                raise
    elif name in env_class.derived:
        for env, value in zip(lane_envs(envs), per_lane, strict=True):
            setattr(env, name, value)  # changes nothing, or raises
    else:
        raise AttributeError(
            f"lanes of {envs} have no attribute {name!r} to set; they have "
            f"{sorted(env_class.parameters)}, 'state' and 'np_random'"
        )


def _set_streams(envs: NativeVectorEnv, generators: list[Any]) -> None:
    """Let every lane draw on from where a generator is; the generators themselves stay apart."""
    states = []
    for lane, generator in enumerate(generators):
        state = getattr(getattr(generator, "bit_generator", None), "state", None)
        if not isinstance(state, dict) or state.get("bit_generator") != "PCG64":
            raise error.ArgumentTypeError(
                f"np_random: expected numpy.random.Generator objects over PCG64, got {generator!r} "
                f"for lane {lane}"
            )
        states.append(state)
    for generator, state in zip(envs.np_random, states, strict=True):
        generator.bit_generator.state = state
    envs._seeds.forget(np.arange(envs.num_envs))
