"""`make` and `make_vec`: create an environment, or a batch of environments, from an id.

An argument that both functions accept has the same meaning in both.
"""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, TypeVar, overload

import numpy as np

from gymcore import error, logger
from gymcore.base import program
from gymcore.base.arguments import MAX_COUNT, argument_names, positive, unexpected_arguments
from gymcore.base.record_constructor import snapshot
from gymcore.checking import rules
from gymcore.core import Env, Wrapper
from gymcore.foreign import adopt
from gymcore.specs import (
    EnvSpec,
    VectorEnvCreator,
    VectorizeMode,
    find_spec,
    load_creator,
)
from gymcore.specs.env_spec import Kwargs
from gymcore.specs.gymnasium_ids import GYMNASIUM
from gymcore.wrappers.common import OrderEnforcing, PassiveEnvChecker, TimeLimit, checked_limit

if TYPE_CHECKING:
    from gymcore.vector import AsyncVectorEnv, SyncVectorEnv, VectorEnv

    _Engine: TypeAlias = type[SyncVectorEnv] | type[AsyncVectorEnv]

EnvWrapper: TypeAlias = Callable[[Env], Env]
Created = TypeVar("Created")

_NO_METADATA = {"render_modes": ()}


def _spec_of(id: str | EnvSpec, problem: str, is_remote: bool = False) -> EnvSpec:
    """Return the spec for the argument `id`; an id for a server need not be registered here.

    `problem` is the message for another type; it differs between Gymnasium's functions.
    """
    if isinstance(id, EnvSpec):
        return id
    if not isinstance(id, str):
        raise error.ArgumentTypeError(problem.format(type(id)))
    try:
        return find_spec(id)
    except (error.UnregisteredEnv, error.DependencyNotInstalled, ModuleNotFoundError):
        if not is_remote:
            raise
        return EnvSpec(id if id.startswith(GYMNASIUM) else id.rpartition(":")[2])


def _checked_limit(limit: int | None) -> int | None:
    """Return the argument `max_episode_steps` as an int: -1 for no limit, or None if not given."""
    if limit is None:
        return None
    is_none = isinstance(limit, (int, np.integer)) and limit == -1
    return -1 if is_none else checked_limit(limit)


def own_kwargs(spec: EnvSpec) -> Kwargs:
    """Return a deep copy of the registered arguments, so that environments do not share them.

    If an argument cannot be deep-copied, only the containers are copied.
    """
    try:
        return copy.deepcopy(spec.kwargs)
    except Exception:
        kwargs: Kwargs = snapshot(spec.kwargs)
        return kwargs


def _split_kwargs(spec: EnvSpec) -> tuple[Kwargs, Kwargs]:
    """Return the environment's arguments, and those of `make_vec` stored in a batch's spec."""
    kwargs = own_kwargs(spec)
    names = ("num_envs", "vectorization_mode", "vector_kwargs", "wrappers")
    return kwargs, {name: kwargs.pop(name) for name in names if name in kwargs}


def _render_wrapper(creator: Callable[..., object], kwargs: Kwargs) -> EnvWrapper | None:
    """Return the wrapper that the render mode requires; set the mode below it in `kwargs`.

    Warn about a mode that the class does not list; the class decides how to treat it.
    """
    mode = kwargs.get("render_mode")
    metadata = getattr(creator, "metadata", None)
    modes = metadata.get("render_modes") if isinstance(metadata, dict) else None
    if not isinstance(mode, Hashable):
        raise error.ArgumentTypeError(f"render_mode: expected a text or None, got {mode!r}")
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


def _call(creator: Callable[..., Created], spec: EnvSpec, kwargs: Kwargs) -> Created:
    """Call an entry point; add its arguments to the message of a `TypeError`."""
    try:
        return creator(**kwargs)
    except TypeError as problem:
        message = (
            f"{problem} was raised from the environment creator for {spec.id} "
            f"with kwargs ({kwargs})"
        )
        try:
            explained = type(problem)(message)
        except Exception:  # a subclass with other constructor arguments
            explained = TypeError(message)
        raise explained.with_traceback(problem.__traceback__) from problem


def _check_env(env: object, spec: EnvSpec) -> Env:
    """Return the result of an entry point; raise if it is not an environment."""
    if isinstance(env, Env):
        return env
    incompatible = ""
    if any(cls.__module__.partition(".")[0] == "gym" for cls in type(env).__mro__):
        incompatible = (
            f"Gym is incompatible with {program.package}, please update the environment class to "
            f"`{program.package}.Env`, or make it with `GymV26Environment-v0`. "
        )
    hint = rules.old_interface_hint() if hasattr(env, "step") and not incompatible else ""
    raise error.ArgumentTypeError(
        f"{incompatible}The environment must inherit from the {program.package}.Env class, "
        f"actual class: {type(env)}."
        + (f" {hint}" if hint else "")
        + (f" Does the entry point of {spec.id} end with `return env`?" if env is None else "")
    )


def _check_prior_wrappers(env: Env, spec: EnvSpec) -> int:
    """Return the number of recorded wrappers that the creator itself has applied."""
    if not isinstance(env, Wrapper) or env.spec is None:
        return 0
    wrappers = env.spec.additional_wrappers
    is_known = len(wrappers) <= len(spec.additional_wrappers)  # a creator may also add others
    for env_wrapper, spec_wrapper in zip(wrappers, spec.additional_wrappers, strict=False):
        if is_known and env_wrapper != spec_wrapper:
            raise error.InvalidArgument(
                f"The environment's wrapper spec {env_wrapper} is different from the saved "
                f"`EnvSpec` additional wrapper {spec_wrapper}"
            )
    return len(wrappers)


def make(
    id: str | EnvSpec,
    max_episode_steps: int | None = None,
    disable_env_checker: bool | None = None,
    **kwargs: object,
) -> Env:
    """Create an environment.

    From the inside to the outside it is wrapped in `PassiveEnvChecker`, `OrderEnforcing`,
    `TimeLimit`, the spec's additional wrappers, and `HumanRendering` or `RenderCollection` if the
    requested render mode needs one of them.

    Args:
        id: `[module:][namespace/]name[-v(version)]` (the module is imported first; without a
            version the latest is used), "gymnasium:" and an id in Gymnasium's registry, or a spec
            such as `env.spec`. The spec of a vector environment makes a single environment like
            those in the batch.
        max_episode_steps: Time limit instead of the registered one; -1 for none.
        disable_env_checker: Whether to leave out `PassiveEnvChecker`; None for the registered
            setting.
        **kwargs: Arguments of the environment, such as `render_mode`, which replace the registered
            ones. A compiled environment also accepts its parameters, such as `gravity`.

    Returns:
        The environment. Its `spec` recreates it, including wrappers.

    Raises:
        ArgumentTypeError: If `id` is neither a string nor a spec, or the entry point does not
            return an `Env`.
        Error: If the id is not registered (with a suggestion), or cannot be made.
        InvalidArgument: If `id` is a spec from JSON that names anything except environments and
            wrappers; see `EnvSpec.from_json`.
        TypeError: If the environment's constructor raises it; the arguments are added to it.

    Examples:
        >>> env = make("CartPole-v1")
        >>> print(env)
        <TimeLimit<OrderEnforcing<PassiveEnvChecker<CartPoleEnv<CartPole-v1>>>>>
    """
    env_spec = _spec_of(id, "Expected id to be a string or EnvSpec, got {}")
    limit = _checked_limit(max_episode_steps)
    if "vectorization_mode" in env_spec.kwargs:
        return _make_like_batch(env_spec, limit, disable_env_checker, kwargs)
    if env_spec.entry_point is None:
        raise error.Error(f"{env_spec.id} registered but entry_point is not specified")
    for wrapper in env_spec.additional_wrappers:
        if wrapper.kwargs is None:
            raise error.InvalidArgument(
                f"{wrapper.name} wrapper does not inherit from "
                f"`{program.package}.utils.RecordConstructorArgs`, therefore, "
                "the wrapper cannot be recreated."
            )

    creator = load_creator(env_spec, env_spec.entry_point, Env)
    env_kwargs = {**own_kwargs(env_spec), **kwargs}
    metadata = getattr(creator, "metadata", _NO_METADATA)
    if not isinstance(metadata, property):  # of a wrapper class: the environment's metadata
        rules.CREATOR_METADATA_IS_DICT.check(metadata)
        rules.apply(rules.CREATOR_METADATA, metadata)
    requested = env_kwargs.get("render_mode")
    render_wrapper = _render_wrapper(creator, env_kwargs)
    try:
        create = getattr(creator, "create_with_parameters", creator)  # for compiled environments
        env = _check_env(adopt(_call(create, env_spec, env_kwargs)), env_spec)
    except TypeError as problem:
        is_wrapped = render_wrapper is not None and requested == "human"
        if is_wrapped and "got an unexpected keyword argument 'render_mode'" in str(problem):
            raise error.Error(
                f"You passed render_mode='human' although {env_spec.id} doesn't implement "
                "human-rendering natively. Gym tried to apply the HumanRendering wrapper but it "
                "looks like your environment is using the old rendering API, which is not "
                "supported by the HumanRendering wrapper."
            ) from problem
        raise

    # The base environment's spec has no wrappers: each wrapper adds itself in `env.spec`.
    env.unwrapped.spec = env_spec.copy(
        kwargs=env_kwargs,
        order_enforce=False,
        disable_env_checker=True,
        max_episode_steps=None,
        additional_wrappers=(),
    )
    num_prior = _check_prior_wrappers(env, env_spec)

    if disable_env_checker is None:
        disable_env_checker = env_spec.disable_env_checker
    if not disable_env_checker:
        env = PassiveEnvChecker(env)
    if env_spec.order_enforce:
        env = OrderEnforcing(env)
    if limit is None:
        limit = env_spec.max_episode_steps
    if limit is None:  # the arguments of an environment may set one
        limit = getattr(env.unwrapped, "default_max_episode_steps", None)
    if limit is not None and limit != -1:
        env = TimeLimit(env, limit)
    for wrapper in env_spec.additional_wrappers[num_prior:]:
        wrap = load_creator(env_spec, wrapper.entry_point, Wrapper)
        arguments = snapshot(wrapper.kwargs)
        for name in getattr(wrap, "_tuple_arguments", ()):  # JSON turns tuples into lists
            if isinstance(arguments.get(name), list):
                arguments[name] = tuple(arguments[name])
        env = wrap(env=env, **arguments)
    return env if render_wrapper is None else render_wrapper(env)


def _make_like_batch(
    spec: EnvSpec, limit: int | None, disable_env_checker: bool | None, kwargs: Kwargs
) -> Env:
    """Make a single environment like those of the batch that `make_vec` gave this spec."""
    arguments, batch = _split_kwargs(spec)
    if batch["vectorization_mode"] in (mode.value for mode in _VECTOR_MODES):
        spec, arguments = _single_spec(spec, arguments)
    overrides = {"max_episode_steps": limit, "disable_env_checker": disable_env_checker}
    arguments.update(kwargs)
    arguments.update({name: value for name, value in overrides.items() if value is not None})
    return make_wrapped(make, spec.copy(kwargs={}), batch.get("wrappers", ()), arguments)


def _single_spec(spec: EnvSpec, arguments: Kwargs) -> tuple[EnvSpec, Kwargs]:
    """Return how to make one environment of a compiled batch, and its arguments."""
    from gymcore.vector import VectorEnv

    entry_point = _vector_entry_point(spec)
    creator = entry_point and load_creator(spec, entry_point, VectorEnv)
    single = getattr(creator, "env_class", None)
    if single is None or spec.entry_point is None:
        return spec, arguments
    # Without the options of the engine, such as num_threads.
    known = {*single.parameters, *single.arguments, *_OF_MAKE}
    ignored = getattr(creator, "ignored_arguments", {})
    arguments = {
        name: value
        for name, value in arguments.items()
        if name in known and (name, value) not in ignored.items()
    }
    if load_creator(spec, spec.entry_point, Env) is not single:  # Atari's, which is preprocessed
        spec = spec.copy(entry_point=f"{single.__module__}:{single.__qualname__}")
    return spec, arguments


def make_wrapped(
    make_env: Callable[..., Created],
    spec: EnvSpec,
    wrappers: Sequence[Callable[[Created], Created]],
    kwargs: Kwargs,
) -> Created:
    """Make one environment of a vector environment; as a plain function, it can be pickled."""
    env = make_env(spec, **kwargs)
    for wrapper in wrappers:
        env = wrapper(env)
    return env


_OF_MAKE = {"max_episode_steps", "disable_env_checker", "render_mode"}
_VECTOR_MODES = (VectorizeMode.VECTOR_ENTRY_POINT, VectorizeMode.NATIVE)


def _chosen_mode(
    mode: VectorizeMode | str | None,
    spec: EnvSpec,
    wrappers: Sequence[EnvWrapper],
    kwargs: Kwargs,
) -> VectorizeMode:
    """Return the requested mode, or the fastest one that supports the arguments."""
    if mode is None:
        if spec.additional_wrappers and spec.entry_point is not None:
            return VectorizeMode.SYNC
        if spec.compiled and not wrappers:
            return VectorizeMode.COMPILED
        entry_point = _vector_entry_point(spec, kwargs)
        if entry_point is None or (wrappers and spec.entry_point is not None):
            if entry_point is not None:
                warn_of_wrappers("make_vec", spec.id, "vectorization_mode='sync' or 'async'")
            return VectorizeMode.SYNC
        return VectorizeMode.VECTOR_ENTRY_POINT
    try:
        return VectorizeMode(mode)
    except ValueError as problem:
        raise error.InvalidArgument(
            f"Invalid vectorization mode: {mode!r}, "
            f"valid modes: {[valid.value for valid in VectorizeMode]}"
        ) from problem


def warn_of_wrappers(function: str, id: str, choice: str) -> None:
    """Warn that wrappers of single environments prevent the use of the compiled engine."""
    logger.warn(
        f"{function}: wrappers of single environments run in Python, so {id} is stepped by "
        f"SyncVectorEnv instead of its compiled engine. Wrap the result of {function} in "
        f"{program.package}.wrappers.vector instead, or choose {choice}.",
        stacklevel=4 if function == "make_vec" else 3,
    )


def _vector_entry_point(
    spec: EnvSpec, kwargs: Kwargs | None = None
) -> VectorEnvCreator | str | None:
    """Return the registered vector environment, or the vector class of the environment's class.

    A class may name `vector_arguments`; its vector class then needs one of them among `kwargs`.
    """
    if spec.vector_entry_point is not None or spec.entry_point is None:
        return spec.vector_entry_point
    creator = load_creator(spec, spec.entry_point, Env)
    needed = getattr(creator, "vector_arguments", None)
    if needed is not None and kwargs is not None and not needed & kwargs.keys():
        return None
    return getattr(creator, "vector_class", None)


class _Batch(NamedTuple):
    """The checked arguments of `make_vec`."""

    spec: EnvSpec  # without its arguments
    num_envs: int
    vector_kwargs: Kwargs
    wrappers: Sequence[EnvWrapper]
    kwargs: Kwargs


def _make_native(batch: _Batch) -> VectorEnv:
    """Make the vector environment registered for the id, or the vector class of its class."""
    from gymcore.vector import VectorEnv

    spec = batch.spec
    entry_point = _vector_entry_point(spec)
    if entry_point is None:
        raise error.Error(
            f"Cannot create vectorized environment for {spec.id} because it doesn't have a vector "
            "entry point defined."
        )
    if batch.wrappers:
        raise error.Error(
            "Cannot use `vector_entry_point` vectorization mode with the wrappers argument "
            f"({batch.wrappers})."
        )
    if spec.additional_wrappers:
        raise error.Error(
            "Cannot use `vector_entry_point` vectorization mode with the additional_wrappers "
            f"parameter in spec being not empty ({spec.additional_wrappers})."
        )
    arguments = dict(batch.kwargs)
    # The checker wraps single environments, but a program that disables it may use this mode.
    arguments.pop("disable_env_checker", None)
    if duplicates := sorted(arguments.keys() & batch.vector_kwargs.keys()):
        raise error.InvalidArgument(f"vector_kwargs: {duplicates} are also environment arguments")

    creator = load_creator(spec, entry_point, VectorEnv)
    # The batch class of compiled environments has its metadata in the class of single ones.
    if _render_wrapper(getattr(creator, "env_class", creator), arguments) is not None:
        raise error.UnsupportedMode(
            f"render_mode: {batch.kwargs['render_mode']!r} needs a wrapper of single environments, "
            "which vectorization_mode='sync' and 'async' support"
        )
    env = _call(creator, spec, {"num_envs": batch.num_envs, **arguments, **batch.vector_kwargs})
    if not hasattr(env, "unwrapped"):
        raise error.ArgumentTypeError(
            f"The vector entry point of {spec.id} must make a gymcore.vector.VectorEnv, "
            f"actual class: {type(env)}"
        )
    return env


def _accepted(creator: Any) -> set[str] | None:
    """Return the names of an entry point's arguments; None if it may accept any."""
    names, declared = argument_names(creator), set[str]()
    if hasattr(creator, "create_with_parameters"):
        declared = {*creator.parameters, *creator.arguments}
        if names is None and creator.__module__.startswith("gymcore."):
            names = {"render_mode"}
    return None if names is None else names | declared


def _with_engine_options(batch: _Batch, engine: type[VectorEnv]) -> _Batch:
    """Move the options of the engine of a Python class from `kwargs` to `vector_kwargs`.

    `make_vec` takes them as keywords too; an environment's own argument of that name comes first.
    Unknown names raise `ArgumentTypeError` before anything runs.
    """
    options = {*inspect.signature(engine).parameters}
    options -= {"env_fns", "num_envs", "parameters", *_OF_MAKE}
    kwargs, accepted = dict(batch.kwargs), None
    unexplained = kwargs.keys() - _OF_MAKE or batch.vector_kwargs.keys() - options
    if unexplained and batch.spec.entry_point is not None:
        accepted = _accepted(load_creator(batch.spec, batch.spec.entry_point, Env))
    names = {"autoreset_mode"} if accepted is None else options - accepted
    moved = {name: kwargs.pop(name) for name in names & kwargs.keys()}
    if duplicates := sorted(moved.keys() & batch.vector_kwargs.keys()):
        raise error.InvalidArgument(f"vector_kwargs: {duplicates} are also arguments of make_vec")
    owner, parameters = f"{batch.spec.id} with {engine.__name__}", accepted or ()
    if accepted is not None and (unknown := kwargs.keys() - accepted - _OF_MAKE):
        raise unexpected_arguments(owner, unknown, options, parameters)
    if unknown := batch.vector_kwargs.keys() - options:
        raise unexpected_arguments(f"vector_kwargs of {owner}", unknown, options, parameters)
    return batch._replace(kwargs=kwargs, vector_kwargs={**batch.vector_kwargs, **moved})


def _make_unbatched(batch: _Batch, engine: _Engine) -> VectorEnv:
    """Make a vector environment from single environments made by `make`."""
    if batch.spec.entry_point is None:
        raise error.Error(
            f"Cannot create vectorized environment for {batch.spec.id} because it doesn't have an "
            "entry point defined."
        )
    create = functools.partial(make_wrapped, make, batch.spec, batch.wrappers, batch.kwargs)
    return engine([create] * batch.num_envs, **batch.vector_kwargs)


def _make_compiled(batch: _Batch) -> tuple[VectorEnv, _Batch]:
    """Make the vector environment of the class, converted to `gymcore.jit`.

    Return it with the arguments of the engine moved to `vector_kwargs`. Raise `ConversionError` if
    the class cannot be converted.
    """
    from gymcore.jit.conversion import convert
    from gymcore.jit.env import is_compiled
    from gymcore.native.vector_env import NativeVectorEnv

    spec = batch.spec
    if batch.wrappers or spec.additional_wrappers:
        raise error.InvalidArgument(
            "wrappers: expected none with vectorization_mode 'compiled', got "
            f"{[*batch.wrappers, *spec.additional_wrappers]}"
        )
    if spec.entry_point is None:
        raise error.Error(
            f"Cannot create vectorized environment for {spec.id} because it doesn't have an "
            "entry point defined."
        )
    creator = load_creator(spec, spec.entry_point, Env)
    if not isinstance(creator, type):
        raise error.ConversionError(f"expected a class as the entry point, got {creator!r}")
    if not is_compiled():
        raise error.ConversionError("Numba is missing, or GYMCORE_JIT=0 is set")
    batch = _with_engine_options(batch, NativeVectorEnv)
    arguments = {name: value for name, value in batch.kwargs.items() if name not in _OF_MAKE}
    options = {"num_envs": batch.num_envs, **batch.vector_kwargs}
    for name in batch.kwargs.keys() & {"max_episode_steps", "render_mode"}:
        options[name] = batch.kwargs[name]
    return _call(convert(creator, **arguments).vector_class, spec, options), batch


def _make_on_ray(batch: _Batch) -> VectorEnv:
    """Make a vector environment whose Ray actors each have a vector environment of `make_vec`."""
    from gymcore.distributed.vector_env import RAY_OPTIONS, RayVectorEnv

    others = dict(batch.vector_kwargs)
    options = {name: others.pop(name) for name in RAY_OPTIONS if name in others}
    wrappers = batch.wrappers or None
    create = functools.partial(
        make_vec, batch.spec, vector_kwargs=others, wrappers=wrappers, **batch.kwargs
    )
    return RayVectorEnv(create, batch.num_envs, **options)


def _make_remote(batch: _Batch, num_envs: int | None) -> VectorEnv:
    """Make a client of a vector environment on a server."""
    from gymcore.remote import RemoteVectorEnv

    if batch.wrappers:
        raise error.InvalidArgument(
            "wrappers: expected none with vectorization_mode 'remote', as the server makes the "
            f"environments, got {batch.wrappers!r}"
        )
    options = (argument_names(RemoteVectorEnv) or {*batch.vector_kwargs}) - {"env_id", "num_envs"}
    if unknown := batch.vector_kwargs.keys() - options:
        owner = f"{batch.spec.id} with RemoteVectorEnv, whose server has made the environments"
        raise unexpected_arguments(owner, unknown, options, ())
    return RemoteVectorEnv(batch.spec.id, num_envs=num_envs, **batch.vector_kwargs)


def _check_autoreset_mode(env: VectorEnv) -> None:
    """Warn if the environment's metadata does not name its autoreset mode."""
    from gymcore.vector import AutoresetMode

    metadata = env.metadata
    if not isinstance(metadata, dict) or "autoreset_mode" not in metadata:
        logger.warn(f"The VectorEnv ({env}) is missing AutoresetMode metadata, metadata={metadata}")
    elif not isinstance(metadata["autoreset_mode"], AutoresetMode):
        logger.warn(
            f"The VectorEnv ({env}) metadata['autoreset_mode'] is not an instance of "
            f"AutoresetMode, {type(metadata['autoreset_mode'])}."
        )


@overload
def make_vec(
    id: str | EnvSpec,
    num_envs: int | None,
    vectorization_mode: Literal[VectorizeMode.SYNC, "sync"],
    vector_kwargs: Kwargs | None = None,
    wrappers: Sequence[EnvWrapper] | None = None,
    **kwargs: object,
) -> SyncVectorEnv: ...
@overload
def make_vec(
    id: str | EnvSpec,
    num_envs: int | None,
    vectorization_mode: Literal[VectorizeMode.ASYNC, "async"],
    vector_kwargs: Kwargs | None = None,
    wrappers: Sequence[EnvWrapper] | None = None,
    **kwargs: object,
) -> AsyncVectorEnv: ...
@overload
def make_vec(
    id: str | EnvSpec,
    num_envs: int | None = None,
    vectorization_mode: VectorizeMode | str | None = None,
    vector_kwargs: Kwargs | None = None,
    wrappers: Sequence[EnvWrapper] | None = None,
    **kwargs: object,
) -> VectorEnv: ...
def make_vec(
    id: str | EnvSpec,
    num_envs: int | None = None,
    vectorization_mode: VectorizeMode | str | None = None,
    vector_kwargs: Kwargs | None = None,
    wrappers: Sequence[EnvWrapper] | None = None,
    **kwargs: object,
) -> VectorEnv:
    """Create a vector environment: several copies of an environment that are stepped together.

    Args:
        id: As for `make`; `make_vec(envs.spec)` creates the same vector environment again.
            Arguments given here replace those in the spec.
        num_envs: Number of copies; None for the spec's, or 1. With "remote" None for the server's.
        vectorization_mode: How they run (a `VectorizeMode` or its value). None selects the
            registered vector environment, or "sync" if there is none or the arguments need
            wrappers around single environments. "compiled" converts a Python class to compiled
            code, which is saved for the next time; if that is impossible, a warning names the first
            obstacle, and the mode is "sync".
        vector_kwargs: Options of the vector environment, in every mode: `autoreset_mode`, `copy`,
            `num_threads` and so on; with "ray" those of `RayVectorEnv` (`num_actors`, `address`)
            and of the vector environments in its actors. They may also be keyword arguments, unless
            the environment has an argument of that name, or takes any argument (then only
            `autoreset_mode` may).
        wrappers: Wrappers (or functions) to apply to each environment. Not supported with
            "vector_entry_point" and "native"; without a mode, the environments are stepped in
            Python, with a warning if there is a compiled engine.
        **kwargs: As for `make`: `max_episode_steps` (-1 for no limit), `render_mode` and the
            environment's own arguments.

    Returns:
        The vector environment.

    Raises:
        ArgumentTypeError: If `id` is neither a string nor a spec, or `num_envs` is not an integer.
        InvalidArgument: If `num_envs` or `vectorization_mode` is invalid, or `id` is a spec from
            JSON that `make` would reject.
        Error: If the id is not registered (with a suggestion), or does not support the mode.

    Examples:
        >>> envs = make_vec("CartPole-v1", num_envs=3)
        >>> envs
        CartPoleVectorEnv(CartPole-v1, num_envs=3)
        >>> envs.reset(seed=1)[0].shape
        (3, 4)
        >>> envs.close()
    """
    problem = "Invalid id type: {}. Expected `str` or `EnvSpec`"
    is_remote = vectorization_mode in (VectorizeMode.REMOTE, VectorizeMode.REMOTE.value)
    env_spec = _spec_of(id, problem, is_remote)
    env_kwargs, stored = _split_kwargs(env_spec)
    env_kwargs.update(kwargs)
    limit = _checked_limit(env_kwargs.get("max_episode_steps"))
    if limit is not None:
        env_kwargs["max_episode_steps"] = limit
    else:
        env_kwargs.pop("max_episode_steps", None)
    num_envs = stored.get("num_envs") if num_envs is None else num_envs
    count = 1 if num_envs is None else positive("num_envs", num_envs, MAX_COUNT)
    vector_kwargs = stored.get("vector_kwargs", {}) if vector_kwargs is None else vector_kwargs
    wrappers = stored.get("wrappers", ()) if wrappers is None else wrappers
    if not isinstance(vector_kwargs, Mapping):
        raise error.ArgumentTypeError(f"vector_kwargs: expected a dict, got {vector_kwargs!r}")
    if not isinstance(wrappers, Sequence) or not all(map(callable, wrappers)):
        raise error.ArgumentTypeError(f"wrappers: expected wrappers or functions, got {wrappers!r}")
    choice = stored.get("vectorization_mode") if vectorization_mode is None else vectorization_mode
    mode = _chosen_mode(choice, env_spec, wrappers, env_kwargs)

    batch = _Batch(env_spec.copy(kwargs={}), count, vector_kwargs, wrappers, env_kwargs)
    if mode is VectorizeMode.REMOTE:
        # All keyword arguments go to the client.
        others = {name: value for name, value in env_kwargs.items() if name not in kwargs}
        batch = batch._replace(vector_kwargs={**vector_kwargs, **kwargs}, kwargs=others)
        env = _make_remote(batch, num_envs and count)
    elif mode is VectorizeMode.RAY:
        env = _make_on_ray(batch)
    elif mode is VectorizeMode.COMPILED and _vector_entry_point(env_spec, env_kwargs) is None:
        limited = {"max_episode_steps": env_spec.max_episode_steps, **env_kwargs}
        try:
            env, batch = _make_compiled(batch._replace(kwargs=limited))
        except error.ConversionError as problem:
            first = problem.obstacles[0] if problem.obstacles else problem
            logger.warn(
                f"make_vec: {env_spec.id} is stepped by SyncVectorEnv, because its class cannot be "
                f"compiled: {first}"
            )
            mode = VectorizeMode.SYNC
    elif mode in (*_VECTOR_MODES, VectorizeMode.COMPILED):
        limited = dict(env_kwargs)
        if env_spec.max_episode_steps is not None:
            limited.setdefault("max_episode_steps", env_spec.max_episode_steps)
        try:
            env = _make_native(batch._replace(kwargs=limited))
            batch = batch._replace(kwargs=limited)
        except (error.DependencyNotInstalled, error.UnsupportedMode):
            # A library or render mode is missing; single environments may not need it.
            if choice is not None or env_spec.entry_point is None:
                raise
            mode = VectorizeMode.SYNC
    if mode in (VectorizeMode.SYNC, VectorizeMode.ASYNC):
        from gymcore import vector

        engine: _Engine = vector.SyncVectorEnv
        if mode is VectorizeMode.ASYNC:
            engine = vector.AsyncVectorEnv
        batch = _with_engine_options(batch, engine)
        env = _make_unbatched(batch, engine)

    spec_kwargs = dict(batch.kwargs)
    if count != 1:
        spec_kwargs["num_envs"] = count
    spec_kwargs["vectorization_mode"] = mode.value
    if batch.vector_kwargs:
        spec_kwargs["vector_kwargs"] = batch.vector_kwargs
    if wrappers:
        spec_kwargs["wrappers"] = wrappers
    env_spec = env_spec.copy(kwargs=spec_kwargs)
    if env_spec.max_episode_steps is None:  # the environment may set one, as a task's time limit
        env_spec.max_episode_steps = getattr(env.unwrapped, "max_episode_steps", None)
    env.unwrapped.spec = env_spec

    _check_autoreset_mode(env)
    return env


EnvSpec.maker = staticmethod(make)  # specs are a layer below and cannot import this module
