"""`make` and `make_vec`: from an id to an environment, or to a batch of them."""

from __future__ import annotations

import copy
import functools
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gymcore import error, logger
from gymcore.base.record_constructor import snapshot
from gymcore.checking import rules
from gymcore.core import Env, Wrapper
from gymcore.foreign import adopt
from gymcore.specs import (
    EnvSpec,
    VectorizeMode,
    WrapperSpec,
    entry_points,
    find_spec,
    load_creator,
)
from gymcore.wrappers.common import OrderEnforcing, PassiveEnvChecker, TimeLimit

if TYPE_CHECKING:
    from gymcore.vector import VectorEnv

_IMMUTABLE = frozenset({type(None), bool, int, float, complex, str, bytes})


def own_kwargs(spec: EnvSpec) -> dict[str, Any]:
    """Return a deep copy of the registered arguments, so that no two environments share them.

    Arguments of which one cannot be copied are shared, all but their containers.
    """
    if all(type(value) in _IMMUTABLE for value in spec.kwargs.values()):
        return dict(spec.kwargs)
    try:
        return copy.deepcopy(spec.kwargs)
    except Exception:
        return {name: snapshot(value) for name, value in spec.kwargs.items()}


def _choose_render_mode(
    metadata: dict[str, Any], kwargs: dict[str, Any]
) -> Callable[[Env[Any, Any]], Env[Any, Any]] | None:
    """Set the render mode that the environment itself is made with."""
    mode = kwargs.get("render_mode")
    modes = metadata.get("render_modes")
    if mode is None or not isinstance(modes, Iterable) or mode in modes:
        return None
    if mode == "human":
        for displayable in ("rgb_array", "rgb_array_list"):
            if displayable in modes:
                logger.warn(
                    "You are trying to use 'human' rendering for an environment that doesn't "
                    "natively support it. The HumanRendering wrapper is being applied to your "
                    "environment."
                )
                from gymcore.wrappers.rendering import HumanRendering

                kwargs["render_mode"] = displayable
                return HumanRendering
    if isinstance(mode, str) and mode.endswith("_list") and mode.removesuffix("_list") in modes:
        from gymcore.wrappers.rendering import RenderCollection

        kwargs["render_mode"] = mode.removesuffix("_list")
        return RenderCollection
    logger.warn(
        f"The environment is being initialised with render_mode={mode!r} "
        f"that is not in the possible render_modes ({modes})."
    )
    return None


def _create(
    creator: Callable[..., Any], spec: EnvSpec, kwargs: dict[str, Any], human: bool
) -> Env[Any, Any]:
    """Call the entry point and check what it returns."""
    try:
        env: Any = adopt(creator(**kwargs))
    except TypeError as problem:
        if human and "got an unexpected keyword argument 'render_mode'" in str(problem):
            raise error.Error(
                f"You passed render_mode='human' although {spec.id} doesn't implement "
                "human-rendering natively. Gym tried to apply the HumanRendering wrapper but it "
                "looks like your environment is using the old rendering API, which is not "
                "supported by the HumanRendering wrapper."
            ) from problem
        message = (
            f"{problem} was raised from the environment creator for {spec.id} "
            f"with kwargs ({kwargs})"
        )
        try:
            explained = type(problem)(message)
        except Exception:  # a subclass whose constructor wants something else
            explained = TypeError(message)
        raise explained.with_traceback(problem.__traceback__) from problem
    if not isinstance(env, Env):
        incompatible = ""
        if any(cls.__module__.partition(".")[0] == "gym" for cls in type(env).__mro__):
            incompatible = (
                "Gym is incompatible with gymcore, please update the environment class to "
                "`gymcore.Env`, or make it with `GymV26Environment-v0`. "
            )
        raise error.ArgumentTypeError(
            f"{incompatible}The environment must inherit from the gymcore.Env class, "
            f"actual class: {type(env)}."
            + (f" Does the entry point of {spec.id} end with `return env`?" if env is None else "")
        )
    return env


def _check_prior_wrappers(env: Env[Any, Any], spec: EnvSpec) -> int:
    """Return how many recorded wrappers the creator itself put around the environment."""
    if not isinstance(env, Wrapper) or env.spec is None:
        return 0
    made = env.spec.additional_wrappers
    for env_wrapper, spec_wrapper in zip(made, spec.additional_wrappers, strict=False):
        if env_wrapper != spec_wrapper:
            raise error.InvalidArgument(
                f"The environment's wrapper spec {env_wrapper} is different from the saved "
                f"`EnvSpec` additional wrapper {spec_wrapper}"
            )
    return len(made)


def _check_recreatable(wrappers: tuple[WrapperSpec, ...]) -> None:
    """Raise `InvalidArgument` if the arguments of a wrapper were not recorded."""
    for wrapper in wrappers:
        if wrapper.kwargs is None:
            raise error.InvalidArgument(
                f"{wrapper.name} wrapper does not inherit from "
                f"`{entry_points.program_package}.utils.RecordConstructorArgs`, therefore, "
                "the wrapper cannot be recreated."
            )


def make(
    id: str | EnvSpec,
    max_episode_steps: int | None = None,
    disable_env_checker: bool | None = None,
    **kwargs: Any,
) -> Env[Any, Any]:
    """Make an environment.

    From the inside to the outside it is wrapped in `PassiveEnvChecker`, `OrderEnforcing`,
    `TimeLimit`, the spec's additional wrappers, and `HumanRendering` or `RenderCollection` if the
    render mode that was asked for needs one of those.

    Args:
        id: `[module:][namespace/]name[-v(version)]` (the module is imported first; without a
            version the newest is taken), "gymnasium:" and an id of Gymnasium's registry, or a
            spec such as `env.spec`. The spec of a vector environment makes one environment like
            those that it consists of.
        max_episode_steps: Time limit, in place of the registered one; -1 for none.
        disable_env_checker: Whether to leave out `PassiveEnvChecker`; None uses the registered
            setting.
        **kwargs: Arguments of the environment, which replace the registered ones, such as
            `render_mode`.

    Returns:
        The environment. Its `spec` makes it again, wrappers included.

    Raises:
        ArgumentTypeError: if `id` is neither a string nor a spec, or the entry point does not
            make an `Env`.
        Error: if the id is not registered (with a suggestion), or cannot be made.
        InvalidArgument: if `id` is a spec from JSON that names anything but environments and
            wrappers; see `EnvSpec.from_json`.
        TypeError: from the environment's constructor, with the arguments it was given.

    Example:
        >>> env = make("CartPole-v1")
        >>> print(env)
        <TimeLimit<OrderEnforcing<PassiveEnvChecker<CartPoleEnv<CartPole-v1>>>>>
    """
    if isinstance(id, EnvSpec):
        env_spec = id
    elif isinstance(id, str):
        env_spec = find_spec(id)
    else:
        raise error.ArgumentTypeError(f"Expected id to be a string or EnvSpec, got {type(id)}")

    if "vectorization_mode" in env_spec.kwargs:
        return _make_like_batch(env_spec, max_episode_steps, disable_env_checker, kwargs)
    if env_spec.entry_point is None:
        raise error.Error(f"{env_spec.id} registered but entry_point is not specified")
    max_episode_steps = _without_numpy(max_episode_steps)
    if max_episode_steps is None:
        max_episode_steps = env_spec.max_episode_steps
    elif max_episode_steps == -1:
        max_episode_steps = None
    _check_recreatable(env_spec.additional_wrappers)

    creator = load_creator(env_spec, env_spec.entry_point, Env)
    env_kwargs = own_kwargs(env_spec)
    env_kwargs.update(kwargs)
    render_wrapper = None
    if hasattr(creator, "metadata"):
        metadata = creator.metadata
        rules.CREATOR_METADATA_IS_DICT.check(metadata)
        rules.apply(rules.CREATOR_METADATA, metadata)
        render_wrapper = _choose_render_mode(metadata, env_kwargs)
    human = render_wrapper is not None and render_wrapper.__name__ == "HumanRendering"
    env = _create(creator, env_spec, env_kwargs, human)

    # The base environment's spec knows nothing of wrappers: each of them adds itself in `env.spec`.
    env.unwrapped.spec = env_spec.copy(
        kwargs=env_kwargs,
        order_enforce=False,
        disable_env_checker=True,
        max_episode_steps=None,
        additional_wrappers=(),
    )
    made_by_creator = _check_prior_wrappers(env, env_spec)

    if disable_env_checker is None:
        disable_env_checker = env_spec.disable_env_checker
    if not disable_env_checker:
        env = PassiveEnvChecker(env)
    if env_spec.order_enforce:
        env = OrderEnforcing(env)
    if max_episode_steps is not None:
        env = TimeLimit(env, max_episode_steps)
    for wrapper in env_spec.additional_wrappers[made_by_creator:]:
        wrap: Any = load_creator(env_spec, wrapper.entry_point, Wrapper)
        arguments = snapshot(wrapper.kwargs)
        for name in getattr(wrap, "_tuple_arguments", ()):  # a spec that was JSON has lists
            if isinstance(arguments.get(name), list):
                arguments[name] = tuple(arguments[name])
        env = wrap(env=env, **arguments)
    if render_wrapper is not None:
        env = render_wrapper(env)
    return env


def _without_numpy(number: Any) -> Any:
    """Return a NumPy integer as an int, anything else as it is."""
    return int(number) if isinstance(number, np.integer) else number


def _make_like_batch(
    spec: EnvSpec,
    max_episode_steps: int | None,
    disable_env_checker: bool | None,
    kwargs: dict[str, Any],
) -> Env[Any, Any]:
    """Make one environment like those of the batch that `make_vec` gave this spec."""
    arguments, batch = _split_kwargs(spec)
    arguments.update(kwargs)
    if max_episode_steps is not None:
        arguments["max_episode_steps"] = max_episode_steps
    if disable_env_checker is not None:
        arguments["disable_env_checker"] = disable_env_checker
    return _make_single(spec.copy(kwargs={}), batch.get("wrappers", ()), arguments)


def _split_kwargs(spec: EnvSpec) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the environment's arguments, and those of `make_vec` that the spec of a batch has."""
    kwargs = own_kwargs(spec)
    names = ("num_envs", "vectorization_mode", "vector_kwargs", "wrappers")
    return kwargs, {name: kwargs.pop(name) for name in names if name in kwargs}


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
) -> VectorizeMode:
    """Return the mode that was asked for, or the fastest that can do what was asked for."""
    if mode is None:
        wrapped = bool(wrappers or spec.additional_wrappers) and spec.entry_point is not None
        if wrapped or _vector_entry_point(spec) is None:
            return VectorizeMode.SYNC
        return VectorizeMode.VECTOR_ENTRY_POINT
    try:
        return VectorizeMode(mode)
    except ValueError as problem:
        raise error.InvalidArgument(
            f"Invalid vectorization mode: {mode!r}, "
            f"valid modes: {[valid.value for valid in VectorizeMode]}"
        ) from problem


def _vector_entry_point(spec: EnvSpec) -> Any:
    """Return the registered vector environment, or the one of a class that brings its own."""
    if spec.vector_entry_point is not None or spec.entry_point is None:
        return spec.vector_entry_point
    return getattr(load_creator(spec, spec.entry_point, Env), "vector_class", None)


def _make_native(
    spec: EnvSpec,
    num_envs: int,
    vector_kwargs: dict[str, Any],
    wrappers: Sequence[Any],
    kwargs: dict[str, Any],
) -> VectorEnv[Any, Any, Any]:
    """Make the vector environment that was registered for the id, or is derived from its class."""
    entry_point = _vector_entry_point(spec)
    if entry_point is None:
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
    from gymcore.vector import VectorEnv

    creator = load_creator(spec, entry_point, VectorEnv)
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

    create = functools.partial(_make_single, spec, wrappers, kwargs)
    return vector_class([create] * num_envs, **vector_kwargs)


def _make_single(
    spec: EnvSpec, wrappers: Sequence[Callable[..., Any]], kwargs: dict[str, Any]
) -> Env[Any, Any]:
    """Make an environment of a vector environment; as a plain function, it pickles."""
    env = make(spec, **kwargs)
    for wrapper in wrappers:
        env = wrapper(env)
    return env


def _make_on_ray(
    spec: EnvSpec,
    num_envs: int,
    vector_kwargs: dict[str, Any],
    wrappers: Sequence[Any],
    kwargs: dict[str, Any],
) -> VectorEnv[Any, Any, Any]:
    """Make a vector environment over actors that each have one of `make_vec`."""
    from gymcore.distributed.vector_env import RAY_OPTIONS, RayVectorEnv

    options = {name: value for name, value in vector_kwargs.items() if name in RAY_OPTIONS}
    others = {name: value for name, value in vector_kwargs.items() if name not in RAY_OPTIONS}
    create = functools.partial(
        make_vec, spec, vector_kwargs=others, wrappers=wrappers or None, **kwargs
    )
    return RayVectorEnv(create, num_envs, **options)


def _find_remote_spec(id: str) -> EnvSpec:
    """Return the spec of an id, which need not be registered here: the server makes it."""
    try:
        return find_spec(id)
    except error.UnregisteredEnv:
        return EnvSpec(id)


def _make_remote(
    env_id: str, num_envs: int | None, options: dict[str, Any], wrappers: Sequence[Any]
) -> VectorEnv[Any, Any, Any]:
    """Make the client of a vector environment that a server has made."""
    from gymcore.remote import RemoteVectorEnv

    if wrappers:
        raise error.InvalidArgument(
            "wrappers: expected none with vectorization_mode 'remote', as the server makes the "
            f"environments, got {wrappers!r}"
        )
    return RemoteVectorEnv(env_id, num_envs=num_envs, **options)


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
    num_envs: int | None = None,
    vectorization_mode: VectorizeMode | str | None = None,
    vector_kwargs: dict[str, Any] | None = None,
    wrappers: Sequence[Callable[[Env[Any, Any]], Wrapper[Any, Any, Any, Any]]] | None = None,
    **kwargs: Any,
) -> VectorEnv[Any, Any, Any]:
    """Make a vector environment: several copies of an environment that are stepped together.

    Args:
        id: As for `make`; `make_vec(envs.spec)` makes the same vector environment again.
            Arguments given here take the place of those in the spec.
        num_envs: Number of copies. None takes that of the spec, else 1; with "remote" the server's.
        vectorization_mode: How they run (`VectorizeMode` or its value). None takes the registered
            vector environment if there is one, else (or if wrappers are asked for) "sync".
        vector_kwargs: Options of the vector environment, in every mode: `autoreset_mode`, `copy`,
            `num_threads`, ...; with "ray" those of `RayVectorEnv` (`num_actors`, `address`) and of
            the vector environments in its actors.
        wrappers: Wrappers (or functions) to put around each environment. Not possible with
            "vector_entry_point" and "native".
        **kwargs: As for `make`: `max_episode_steps` (-1 for no limit), `render_mode` and the
            environment's own arguments.

    Returns:
        The vector environment.

    Raises:
        ArgumentTypeError: if `id` is neither a string nor a spec, or `num_envs` is not an integer.
        InvalidArgument: if `num_envs` or `vectorization_mode` is not valid, or for a spec from JSON
            as in `make`.
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
        remote = vectorization_mode in (VectorizeMode.REMOTE, VectorizeMode.REMOTE.value)
        env_spec = _find_remote_spec(id) if remote else find_spec(id)
    else:
        raise error.ArgumentTypeError(f"Invalid id type: {type(id)}. Expected `str` or `EnvSpec`")

    env_kwargs, stored = _split_kwargs(env_spec)
    stored_mode = stored.get("vectorization_mode")
    stored_vector_kwargs = stored.get("vector_kwargs", {})
    stored_wrappers = stored.get("wrappers", ())
    env_kwargs.update(kwargs)
    if "max_episode_steps" in env_kwargs:
        env_kwargs["max_episode_steps"] = _without_numpy(env_kwargs["max_episode_steps"])

    wanted = stored.get("num_envs") if num_envs is None else num_envs
    num_envs = 1 if wanted is None else _checked_num_envs(wanted)
    vector_kwargs = stored_vector_kwargs if vector_kwargs is None else vector_kwargs
    wrappers = stored_wrappers if wrappers is None else wrappers
    asked = stored_mode if vectorization_mode is None else vectorization_mode
    mode = _chosen_mode(asked, env_spec, wrappers)
    if mode is VectorizeMode.REMOTE:
        vector_kwargs = {**(vector_kwargs or {}), **kwargs}  # all of them are the client's
        env_kwargs = {name: value for name, value in env_kwargs.items() if name not in kwargs}
        env = _make_remote(
            env_spec.id, None if wanted is None else num_envs, vector_kwargs, wrappers
        )

    single_spec = env_spec.copy(kwargs={})
    if mode in _VECTOR_MODES:
        if env_spec.max_episode_steps is not None:
            env_kwargs.setdefault("max_episode_steps", env_spec.max_episode_steps)
        try:
            env = _make_native(single_spec, num_envs, vector_kwargs, wrappers, env_kwargs)
        except error.DependencyNotInstalled:
            # A library may be installed that compiled code cannot call; Python environments may.
            if asked is not None or env_spec.entry_point is None:
                raise
            mode = VectorizeMode.SYNC
    if mode is VectorizeMode.RAY:
        env = _make_on_ray(single_spec, num_envs, vector_kwargs, wrappers, env_kwargs)
    elif mode not in (*_VECTOR_MODES, VectorizeMode.REMOTE):
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


EnvSpec.maker = staticmethod(make)  # specs are a layer below and do not import this one
