"""`make_vec`: from an id to a vector environment."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from gymcore import error, logger
from gymcore.core import Env, Wrapper
from gymcore.specs import EnvSpec, VectorizeMode
from gymcore.envs.lookup import find_spec, load_env_creator
from gymcore.envs.making import make, own_kwargs
from gymcore.envs.pooling import prefers_workers

if TYPE_CHECKING:
    from gymcore.vector import VectorEnv

_VECTOR_MODES = (VectorizeMode.VECTOR_ENTRY_POINT, VectorizeMode.NATIVE)


def _checked_num_envs(num_envs: int) -> int:
    try:
        count = operator.index(num_envs)
    except TypeError:
        raise error.ArgumentTypeError(
            f"num_envs: expected an integer, got {num_envs!r} ({type(num_envs)})"
        ) from None
    if count < 1:
        raise error.InvalidArgument(f"num_envs: expected at least 1, got {count}")
    return count


def _chosen_mode(
    mode: VectorizeMode | str | None,
    spec: EnvSpec,
    wrappers: Sequence[Any],
    num_envs: int,
    kwargs: dict[str, Any],
) -> VectorizeMode:
    """Return the mode that was asked for, or the fastest that can do what was asked for."""
    if mode is None:
        wrapped = bool(wrappers or spec.additional_wrappers) and spec.entry_point is not None
        if spec.vector_entry_point is None or wrapped:
            if prefers_workers(spec, num_envs, kwargs):
                return VectorizeMode.ASYNC
            return VectorizeMode.SYNC
        return VectorizeMode.VECTOR_ENTRY_POINT
    try:
        return VectorizeMode(mode)
    except ValueError as problem:
        raise error.InvalidArgument(
            f"Invalid vectorization mode: {mode!r}, "
            f"valid modes: {[valid.value for valid in VectorizeMode]}"
        ) from problem


def _make_native(
    spec: EnvSpec,
    num_envs: int,
    vector_kwargs: dict[str, Any],
    wrappers: Sequence[Any],
    kwargs: dict[str, Any],
) -> VectorEnv[Any, Any, Any]:
    """Make the vector environment that was registered for the id."""
    if spec.vector_entry_point is None:
        raise error.Error(
            f"Cannot create vectorized environment for {spec.id} because it doesn't have a vector "
            "entry point defined."
        )
    if wrappers:
        raise error.Error(
            "Cannot use `vector_entry_point` vectorization mode with the wrappers argument "
            f"({wrappers})."
        )
    if spec.additional_wrappers:
        raise error.Error(
            "Cannot use `vector_entry_point` vectorization mode with the additional_wrappers "
            f"parameter in spec being not empty ({spec.additional_wrappers})."
        )
    # The checker wraps single environments; a program that turns it off may still choose this mode.
    arguments = {name: value for name, value in kwargs.items() if name != "disable_env_checker"}
    if twice := sorted(arguments.keys() & vector_kwargs.keys()):
        raise error.InvalidArgument(f"vector_kwargs: {twice} given as environment arguments too")
    creator = spec.vector_entry_point
    creator = creator if callable(creator) else load_env_creator(creator)
    env = creator(num_envs=num_envs, **arguments, **vector_kwargs)
    if not hasattr(env, "unwrapped"):
        raise error.ArgumentTypeError(
            f"The vector entry point of {spec.id} must make a gymcore.vector.VectorEnv, "
            f"actual class: {type(env)}"
        )
    return env


def _make_of_singles(
    mode: VectorizeMode,
    spec: EnvSpec,
    num_envs: int,
    vector_kwargs: dict[str, Any],
    wrappers: Sequence[Callable[[Env[Any, Any]], Wrapper[Any, Any, Any, Any]]],
    kwargs: dict[str, Any],
) -> VectorEnv[Any, Any, Any]:
    """Make a vector environment that runs `num_envs` environments of `make`."""
    if spec.entry_point is None:
        raise error.Error(
            f"Cannot create vectorized environment for {spec.id} because it doesn't have an entry "
            "point defined."
        )
    import gymcore.vector

    engine = "SyncVectorEnv" if mode is VectorizeMode.SYNC else "AsyncVectorEnv"
    vector_class = getattr(gymcore.vector, engine)

    def create_single_env() -> Env[Any, Any]:
        env = make(spec, **kwargs)
        for wrapper in wrappers:
            env = wrapper(env)
        return env

    vector_env: VectorEnv[Any, Any, Any] = vector_class(
        [create_single_env] * num_envs, **vector_kwargs
    )
    return vector_env


def _check_autoreset_mode(env: VectorEnv[Any, Any, Any]) -> None:
    """Warn if the environment does not say how it resets ended episodes."""
    from gymcore.vector import AutoresetMode

    metadata = env.metadata
    if not isinstance(metadata, dict) or "autoreset_mode" not in metadata:
        logger.warn(f"The VectorEnv ({env}) is missing AutoresetMode metadata, metadata={metadata}")
    elif not isinstance(metadata["autoreset_mode"], AutoresetMode):
        logger.warn(
            f"The VectorEnv ({env}) metadata['autoreset_mode'] is not an instance of "
            f"AutoresetMode, {type(metadata['autoreset_mode'])}."
        )


def make_vec(
    id: str | EnvSpec,
    num_envs: int = 1,
    vectorization_mode: VectorizeMode | str | None = None,
    vector_kwargs: dict[str, Any] | None = None,
    wrappers: Sequence[Callable[[Env[Any, Any]], Wrapper[Any, Any, Any, Any]]] | None = None,
    **kwargs: Any,
) -> VectorEnv[Any, Any, Any]:
    """Make a vector environment: several copies of an environment that are stepped together.

    Args:
        id: `[module:][namespace/]name[-v(version)]`, or a spec: `make_vec(envs.spec)` makes the
            same vector environment again. Arguments given here take the place of those in the spec.
        num_envs: Number of copies.
        vectorization_mode: How they run (`VectorizeMode` or its value). None takes the registered
            vector environment if there is one, else (or if wrappers are asked for) "sync"; of
            the environments over Box2D, if there are enough of them, it takes "async" where that
            is the faster way (`gymcore.envs.pooling`).
        vector_kwargs: Options of the vector environment, in every mode: `autoreset_mode`, `copy`,
            `num_threads`, ...
        wrappers: Wrappers (or functions) to put around each environment. Not possible with
            "vector_entry_point" and "native".
        **kwargs: As for `make`: `max_episode_steps` (-1 for no limit), `render_mode` and the
            environment's own arguments.

    Returns:
        The vector environment.

    Raises:
        InvalidArgument: if `num_envs` or `vectorization_mode` is not valid.
        Error: if the id is not registered (with a suggestion), or has nothing for the mode.

    Example:
        >>> envs = make_vec("CartPole-v1", num_envs=3)
        >>> envs
        CartPoleVectorEnv(CartPole-v1, num_envs=3)
        >>> envs.reset(seed=1)[0].shape
        (3, 4)
        >>> envs.close()
    """
    if isinstance(id, EnvSpec):
        env_spec = id
    elif isinstance(id, str):
        env_spec = find_spec(id)
    else:
        raise error.Error(f"Invalid id type: {type(id)}. Expected `str` or `EnvSpec`")

    env_kwargs = own_kwargs(env_spec)
    stored_num_envs = env_kwargs.pop("num_envs", 1)
    stored_mode = env_kwargs.pop("vectorization_mode", None)
    stored_vector_kwargs = env_kwargs.pop("vector_kwargs", {})
    stored_wrappers = env_kwargs.pop("wrappers", ())
    env_kwargs.update(kwargs)

    num_envs = _checked_num_envs(stored_num_envs if num_envs == 1 else num_envs)
    vector_kwargs = stored_vector_kwargs if vector_kwargs is None else vector_kwargs
    wrappers = stored_wrappers if wrappers is None else wrappers
    asked = stored_mode if vectorization_mode is None else vectorization_mode
    mode = _chosen_mode(asked, env_spec, wrappers, num_envs, env_kwargs)

    single_spec = env_spec.copy(kwargs={})
    if mode in _VECTOR_MODES:
        if env_spec.max_episode_steps is not None:
            env_kwargs.setdefault("max_episode_steps", env_spec.max_episode_steps)
        env = _make_native(single_spec, num_envs, vector_kwargs, wrappers, env_kwargs)
    else:
        env = _make_of_singles(mode, single_spec, num_envs, vector_kwargs, wrappers, env_kwargs)

    spec_kwargs = dict(env_kwargs)
    if num_envs != 1:
        spec_kwargs["num_envs"] = num_envs
    spec_kwargs["vectorization_mode"] = mode.value
    if vector_kwargs:
        spec_kwargs["vector_kwargs"] = vector_kwargs
    if wrappers:
        spec_kwargs["wrappers"] = wrappers
    env.unwrapped.spec = env_spec.copy(kwargs=spec_kwargs)

    _check_autoreset_mode(env)
    return env
