"""The rules for environments, each with its message and its consequence.

`gymcore.make`, the passive checker and `check_env` only apply the rules. The messages are
Gymnasium's, including their mistakes, because programs filter warnings and match errors by them.
Messages refer to this package by the name under which the program imports it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from inspect import Parameter
from typing import NamedTuple, TypeAlias

import numpy as np

from gymcore import error, spaces
from gymcore.base import program
from gymcore.checking.data import data_equivalence, data_shares_objects
from gymcore.core import Env
from gymcore.error import FailedCheck
from gymcore.logger import deprecation, warn


class Rule(NamedTuple):
    """A condition on one or more values, and the consequence if they do not meet it.

    Attributes:
        condition: Function of the values that returns whether they meet the rule.
        message: A format string for the values, `{type}` (the type of the first value) and the
            details passed to `check`; or a function of the values and details.
        consequence: The class of the exception to raise, or a function that warns.
        ends: Whether the following rules assume that this one is met.
    """

    condition: Callable[..., object]
    message: str | Callable[..., str]
    consequence: type[Exception] | Callable[[str], None] = FailedCheck
    ends: bool = False

    def check(self, *values: object, **details: object) -> bool:
        """Return whether values meet the rule; if they do not, warn or raise."""
        if self.condition(*values):
            return True
        if isinstance(self.message, str):
            message = self.message.replace("gymcore", program.package)
            text = message.format(*values, type=type(values[0]), **details)
        else:
            text = self.message(*values, **details)
        if isinstance(self.consequence, type):
            raise self.consequence(text)
        self.consequence(text)
        return False

    def demand(self, *values: object, **details: object) -> None:
        """Raise `FailedCheck` if values do not meet the rule, regardless of its consequence."""
        self._replace(consequence=FailedCheck).check(*values, **details)


SpaceRules: TypeAlias = Mapping[type[spaces.Space], tuple[Rule, ...]]


def apply(rules: Iterable[Rule], *values: object, **details: object) -> bool:
    """Check values against rules; stop and return False if one with `ends` is not met."""
    return all(rule.check(*values, **details) or not rule.ends for rule in rules)


def old_interface_hint() -> str:
    """Return advice on using an environment of Gym 0.21; "" if imported as Gymnasium."""
    if program.package != "gymcore":
        return ""
    return (
        "To use an environment of Gym 0.21, pass it to `gymcore.compat.from_done_api`, or register "
        "it with `gymcore.compat.gym21.register`."
    )


def _warning(
    condition: Callable[..., object], message: str | Callable[..., str], *, ends: bool = False
) -> Rule:
    """Return a rule that warns."""
    return Rule(condition, message, warn, ends)


def for_space(table: SpaceRules, space: spaces.Space) -> tuple[Rule, ...]:
    """Return the rules in a table for the class of a space."""
    return next((rules for kind, rules in table.items() if isinstance(space, kind)), ())


def _is(*kinds: type) -> Callable[..., bool]:
    """Return the condition that the first value is an instance of one of `kinds`."""
    return lambda value, *_: isinstance(value, kinds)


GUIDE = "https://gymnasium.farama.org/introduction/create_custom_env/"

# The environment, and the metadata of its class

IS_ENV = Rule(
    _is(Env),
    "The environment must inherit from the gymcore.Env class, actual class: {type}{hint}",
    error.ArgumentTypeError,
)
IS_UNWRAPPED = _warning(
    lambda env: env.unwrapped is env,
    "The environment ({0}) is different from the unwrapped version ({0.unwrapped}). This could "
    "effect the environment checker as the environment most likely has a wrapper applied to it. We "
    "recommend using the raw environment for `check_env` using `env.unwrapped`.",
)
METADATA_IS_DICT = Rule(
    _is(dict), "Expects `env.metadata` to be a dict, got {0!r}", error.FailedTypeCheck
)
CREATOR_METADATA_IS_DICT = Rule(
    _is(dict),
    "Expect the environment metadata to be dict, actual type: {type}",
    error.InvalidMetadata,
)
CREATOR_METADATA = (
    _warning(
        lambda metadata: metadata.get("render_modes") is not None,
        lambda metadata: (
            "The environment creator metadata doesn't include `render_modes`, "
            f"contains: {list(metadata.keys())}"
        ),
        ends=True,
    ),
    _warning(
        lambda metadata: isinstance(metadata["render_modes"], Iterable),
        lambda metadata: (
            "Expects the environment metadata render_modes to be a Iterable, "
            f"actual type: {type(metadata['render_modes'])}"
        ),
    ),
)
HAS_NO_SEED_METHOD = _warning(
    lambda env: not callable(getattr(env, "seed", None)),
    "Official support for the `seed` function is dropped. Standard practice is to reset gymcore "
    "environments using `env.reset(seed=<desired seed>)`",
)

# Spaces: `kind` is "action" or "observation"

HAS_SPACE = Rule(
    lambda env, kind: hasattr(env, f"{kind}_space"),
    "The environment must specify an {1} space.{hint}",
    AttributeError,
)
IS_SPACE = Rule(
    _is(spaces.Space),
    "{kind} space does not inherit from `gymcore.spaces.Space`, actual type: {type}",
    error.ArgumentTypeError,
)
SPACES: SpaceRules = {
    spaces.Discrete: (
        Rule(
            lambda space: space.n > 0,
            "Discrete {kind} space's number of elements must be positive, "
            "actual number of elements: {0.n}",
        ),
        Rule(
            lambda space: space.shape == (),
            "Discrete {kind} space's shape should be empty, actual shape: {0.shape}",
        ),
    ),
    spaces.MultiDiscrete: (
        Rule(
            lambda space: space.shape == space.nvec.shape,
            "Multi-discrete {kind} space's shape must be equal to the nvec shape, "
            "space shape: {0.shape}, nvec shape: {0.nvec.shape}",
        ),
        Rule(
            lambda space: np.all(space.nvec > 0),
            "Multi-discrete {kind} space's all nvec elements must be greater than 0, "
            "actual nvec: {0.nvec}",
        ),
    ),
    spaces.MultiBinary: (
        Rule(
            lambda space: all(length > 0 for length in space.shape),
            "Multi-binary {kind} space's all shape elements must be greater than 0, "
            "actual shape: {0.shape}",
        ),
    ),
    spaces.Tuple: (
        Rule(lambda space: space.spaces, "An empty Tuple {kind} space is not allowed."),
    ),
    spaces.Dict: (Rule(lambda space: space.spaces, "An empty Dict {kind} space is not allowed."),),
}


def _bound_shape(bound: str, message: str) -> Rule:
    """Return the rule for the shape of `low` or `high`."""
    return Rule(
        lambda box: getattr(box, bound).shape == box.shape,
        f"{message} different shapes, {bound} shape: {{0.{bound}.shape}}, box shape: {{0.shape}}",
    )


_BOUNDS_DIFFER = "A Box {kind} space maximum and minimum values are equal."
BOXES = {
    "observation": (
        _bound_shape("low", "The Box observation space shape and low shape have"),
        _bound_shape("high", "The Box observation space shape and high shape have have"),
        _warning(lambda box: not np.any(box.low == box.high), _BOUNDS_DIFFER, ends=True),
        _warning(
            lambda box: not np.any(box.low > box.high),
            "A Box observation space low value is greater than a high value.",
        ),
    ),
    "action": (
        _bound_shape("low", "The Box action space shape and low shape have have"),
        _bound_shape("high", "The Box action space shape and high shape have"),
        _warning(lambda box: not np.any(box.low == box.high), _BOUNDS_DIFFER),
    ),
}


def _is_normalized(box: spaces.Box) -> object:
    """Return whether a vector space has bounds like [-1, 1] or [0, 1]."""
    # Computed in float64, because abs() of the minimum of an integer type overflows.
    low, high = box.low.astype(np.float64), box.high.astype(np.float64)
    normal = ((low == 0) | (abs(low) == abs(high))) & (low >= -1) & (high <= 1)
    return len(box.shape) != 1 or normal.all()


LIMITS = (
    _warning(
        lambda box: not np.any(np.equal(box.low, -np.inf)),
        "A Box {kind} space minimum value is -infinity. This is probably too low.",
    ),
    _warning(
        lambda box: not np.any(np.equal(box.high, np.inf)),
        "A Box {kind} space maximum value is infinity. This is probably too high.",
    ),
)
ACTION_LIMITS = (
    *LIMITS,
    _warning(
        _is_normalized,
        "For Box action spaces, we recommend using a symmetric and normalized space "
        "(range=[-1, 1] or [0, 1]). See "
        "https://stable-baselines3.readthedocs.io/en/master/guide/rl_tips.html for more "
        "information.",
    ),
)

# Observations: the values are an observation and its space, `method` is "reset" or "step"


def _is_number(space: spaces.Space) -> bool:
    """Return whether elements of a space have no axes, so that any type of number is allowed."""
    return space.shape == ()


_OBS = "The obs returned by the `{method}()` method"
_IS_ARRAY = _warning(
    lambda obs, space: isinstance(obs, np.ndarray) or _is_number(space),
    f"{_OBS} was expecting a numpy array, actual type: {{type}}",
    ends=True,
)
OBSERVATIONS: SpaceRules = {
    spaces.Discrete: (
        _warning(_is(np.int64, int), f"{_OBS} should be an int or np.int64, actual type: {{type}}"),
    ),
    spaces.Box: (
        _IS_ARRAY,
        _warning(
            lambda obs, space: _is_number(space) or obs.dtype == space.dtype,
            f"{_OBS} was expecting numpy array dtype to be {{1.dtype}}, actual type: {{0.dtype}}",
        ),
    ),
    spaces.MultiBinary: (_IS_ARRAY,),
    spaces.MultiDiscrete: (_IS_ARRAY,),
    spaces.Tuple: (
        _warning(_is(tuple), f"{_OBS} was expecting a tuple, actual type: {{type}}"),
        Rule(
            lambda obs, space: len(obs) == len(space.spaces),
            lambda obs, space, method: (
                f"{_OBS.format(method=method)} length is not same as the "
                "observation space length, "
                f"obs length: {len(obs)}, space length: {len(space.spaces)}"
            ),
        ),
    ),
    spaces.Dict: (
        Rule(_is(dict), f"{_OBS} must be a dict, actual type: {{type}}"),
        Rule(
            lambda obs, space: obs.keys() == space.spaces.keys(),
            lambda obs, space, method: (
                f"{_OBS.format(method=method)} observation keys is not same as "
                "the observation space keys, "
                f"obs keys: {list(obs)}, space keys: {list(space.spaces)}"
            ),
        ),
    ),
}
IN_SPACE = _warning(lambda obs, space: obs in space, f"{_OBS} is not within the observation space.")
CAN_BE_IN_SPACE = _warning(
    lambda problem: problem is None,
    f"{_OBS} is not within the observation space with exception: {{0}}",
)

# reset: its parameters, by name, and its result


def accepts(parameters: Mapping[str, Parameter], name: str) -> bool:
    """Return whether a function has a parameter, or takes any keyword arguments."""
    return name in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())


def _default_seed_is_none(parameters: Mapping[str, Parameter]) -> bool:
    return "seed" not in parameters or parameters["seed"].default is None


RESET_SIGNATURE = (
    Rule(
        lambda parameters: accepts(parameters, "seed"),
        "Current gymcore version requires that `Env.reset` can be passed a `seed` instead of using "
        "`Env.seed` for resetting the environment random number generator.",
        deprecation,
    ),
    _warning(
        _default_seed_is_none,
        "The default seed argument in `Env.reset` should be `None`, otherwise the environment will "
        "by default always be deterministic. Actual default: {0[seed]}",
    ),
    Rule(
        lambda parameters: accepts(parameters, "options"),
        "Current gymcore version requires that `Env.reset` can be passed `options` to allow the "
        "environment initialisation to be passed additional information.",
        deprecation,
    ),
)
DEFAULT_SEED_IS_NONE = _warning(
    _default_seed_is_none,
    "The default seed argument in reset should be `None`, otherwise the environment will by "
    "default always be deterministic. Actual default: {0[seed].default}",
)
RESET_TAKES = Rule(
    accepts,
    "The `reset` method does not provide {article} `{1}` or `**kwargs` keyword argument.",
    error.Error,
)
HAS_NO_RETURN_INFO = _warning(
    lambda parameters: "return_info" not in parameters,
    "`return_info` is deprecated as an optional argument to `reset`. `reset`"
    "should now always return `obs, info` where `obs` is an observation, and `info` is a "
    "dictionarycontaining additional information.",
)
RESET_RETURNS_TUPLE = _warning(
    _is(tuple),
    "The result returned by `env.reset()` was not a tuple of the form `(obs, info)`, where `obs` "
    "is a observation and `info` is a dictionary containing additional information. "
    "Actual type: `{type}`",
    ends=True,
)
RESET_RETURNS_TWO = _warning(
    lambda result: len(result) == 2,
    "The result returned by `env.reset()` should be `(obs, info)` by default, , where `obs` is a "
    "observation and `info` is a dictionary containing additional information.",
    ends=True,
)
RESET_RETURNS_PAIR = Rule(
    lambda result: len(result) == 2,
    lambda result: (
        f"Calling the reset method did not return a 2-tuple, actual length: {len(result)}"
    ),
)
RESET_OBS_IN_SPACE = Rule(
    lambda obs, space: obs in space,
    "The first element returned by `env.reset()` is not within the observation space.",
)
RESET_INFO_IS_DICT = Rule(
    _is(dict),
    "The second element returned by `env.reset()` was not a dictionary, actual type: {type}",
)
RESET_UNPACKS = Rule(
    lambda result: isinstance(result, (tuple, list)) and len(result) == 2,
    lambda result: (
        "Expects `env.reset()` to return a tuple of two, the observation and the info, "
        f"actual type: {type(result)}"
        + (f", actual length: {len(result)}" if isinstance(result, (tuple, list)) else "")
    ),
)

# step: its result

STEP_RESULT = (
    Rule(_is(tuple), "Expects step result to be a tuple, actual type: {type}"),
    Rule(
        lambda result: len(result) in (4, 5),
        lambda result: (
            "Expected `Env.step` to return a four or five element tuple, "
            f"actual number of elements returned: {len(result)}."
        ),
        error.Error,
    ),
    Rule(
        lambda result: len(result) == 5,
        "Core environment is written in old step API which returns one bool instead of two. "
        "It is recommended to rewrite the environment with new step API. ",
        deprecation,
    ),
)
STEP_UNPACKS = Rule(
    lambda result: isinstance(result, tuple) and len(result) == 5,
    lambda result: (
        "Expects `env.step()` to return a tuple of five, the observation, reward, "
        "terminated, truncated and info (not enough values to unpack), actual: "
        f"{len(result) if isinstance(result, tuple) else f'not a tuple but {type(result)}'}"
    ),
)
FLAG_IS_BOOL = _warning(
    _is(bool, np.bool_), "Expects `{name}` signal to be a boolean, actual type: {type}"
)
REWARD = (
    _warning(
        lambda reward: (
            isinstance(reward, (np.integer, int, np.floating, float))
            and not isinstance(reward, bool)
        ),
        "The reward returned by `step()` must be a float, int, np.integer or np.floating, "
        "actual type: {type}",
        ends=True,
    ),
    _warning(lambda reward: not np.isnan(reward), "The reward is a NaN value."),
    _warning(lambda reward: not np.isinf(reward), "The reward is an inf value."),
)
STEP_INFO_IS_DICT = Rule(
    _is(dict), "The `info` returned by `step()` must be a python dictionary, actual type: {type}"
)

# render: the declared modes, the frame rate, the mode of the environment, a frame of each mode

RENDER_MODES = (
    _warning(
        lambda modes: modes is not None,
        "No render modes was declared in the environment (env.metadata['render_modes'] is None or "
        "not defined), you may have trouble when calling `.render()`.",
        ends=True,
    ),
    _warning(
        _is(list, tuple),
        "Expects the render_modes to be a sequence (i.e. list, tuple), actual type: {type}",
        ends=True,
    ),
    _warning(
        lambda modes: all(isinstance(mode, str) for mode in modes),
        lambda modes: (
            "Expects all render modes to be strings, "
            f"actual types: {[type(mode) for mode in modes]}"
        ),
    ),
)
RENDER_FPS = (
    _warning(
        lambda fps: fps is not None,
        "No render fps was declared in the environment (env.metadata['render_fps'] is None or not "
        "defined), rendering may occur at inconsistent fps.",
        ends=True,
    ),
    _warning(
        _is(int, float, np.integer, np.floating),
        "Expects the `env.metadata['render_fps']` to be an integer or a float, actual type: {type}",
        ends=True,
    ),
    Rule(
        lambda fps: fps > 0,
        "Expects the `env.metadata['render_fps']` to be greater than zero, actual value: {0}",
    ),
)
RENDER_MODE = (
    Rule(
        lambda mode, modes: mode is None or len(modes) > 0,
        "With no render_modes, expects the Env.render_mode to be None, actual value: {0}",
    ),
    Rule(
        lambda mode, modes: mode is None or mode in modes,
        "The environment was initialized successfully however with an unsupported render mode. "
        "Render mode: {0}, modes: {1}",
    ),
)


def _array_frame(name: str, ndim: int, axes: str) -> tuple[Rule, Rule]:
    """Return the rules for the type and the number of axes of a frame."""
    expected = f"{name} rendering should return a numpy array"
    return (
        _warning(_is(np.ndarray), f"{expected}, got {{type}}", ends=True),
        _warning(
            lambda frame: frame.ndim == ndim,
            f"{expected} with {axes} axes, got {{0.ndim}}",
            ends=True,
        ),
    )


_RGB_IS_ARRAY, _RGB_HAS_AXES = _array_frame("RGB-array", 3, "three")
_TEXT = (_is(str), "ANSI/ASCII rendering should produce a string, got {type}", warn)
FRAMES: Mapping[str, tuple[Rule, ...]] = {
    "human": (
        _warning(lambda frame: frame is None, "Human rendering should return `None`, got {type}"),
    ),
    "rgb_array": (
        _RGB_IS_ARRAY,
        _warning(
            lambda frame: frame.dtype == np.uint8,
            "RGB-array rendering should return a numpy array with dtype uint8, got {0.dtype}",
        ),
        _RGB_HAS_AXES,
        _warning(
            lambda frame: frame.shape[2] == 3,
            "RGB-array rendering should return a numpy array in which the last axis has three "
            "dimensions, got {0.shape[2]}",
        ),
    ),
    "depth_array": _array_frame("Depth-array", 2, "two"),
    "ansi": (Rule(*_TEXT),),
    "ascii": (Rule(*_TEXT),),
}
FRAMES_ARE_LIST = _warning(
    _is(list), "Render mode `{mode}` should produce a list, got {type}", ends=True
)

# Seeds and repeated calls, which only `check_env` checks


def _same_state(first: np.random.Generator | None, second: np.random.Generator | None) -> bool:
    """Return whether two generators will draw the same numbers; False if one is None."""
    if first is None or second is None:
        return False
    return data_equivalence(first.bit_generator.state, second.bit_generator.state, exact=True)


_exactly_same = partial(data_equivalence, exact=True)
_NO_SUPER_RESET = (
    "Most likely the environment reset function does not call `super().reset(seed=seed)`"
)
OBS_IN_SPACE = Rule(
    lambda obs, space: obs in space,
    "The observation returned by `{call}` is not within the observation space.",
)
HAS_GENERATOR = Rule(
    lambda generator: generator is not None,
    "Expects the random number generator to have been generated given a seed was passed to reset. "
    f"{_NO_SUPER_RESET}.",
)
SAME_SEED_SAME_GENERATOR = Rule(
    _same_state,
    f"{_NO_SUPER_RESET} as the random generates are not same when the same seeds are passed to "
    "`env.reset`.",
)
OTHER_SEED_OTHER_GENERATOR = Rule(
    lambda first, second: not _same_state(first, second),
    f"{_NO_SUPER_RESET} as the random number generators are not different when different seeds are "
    "passed to `env.reset`.",
)
SAME_OBS = (
    Rule(
        data_equivalence,
        "Using {call} is non-deterministic as the observations are not equivalent.",
    ),
    _warning(_exactly_same, "Using {call} observations are not equal although similar."),
)
RESET_ACCEPTS_VALUE = Rule(
    lambda problem: problem is None,
    "The environment cannot be reset with {argument}, even though {names} appear in the signature. "
    "This should never happen, please report this issue. The error was: {0}",
)
STEP_UPDATES_GENERATOR = Rule(
    _same_state, "The `.np_random` is not properly been updated after step."
)
SAME_STEP = Rule(
    data_equivalence, "Deterministic step {name} are not equivalent for the same seed and action"
)
EQUAL_STEP = _warning(
    _exactly_same, "Step {name} are not equal although similar given the same seed and action"
)
FIRST_STEP_DOES_NOT_TRUNCATE = Rule(
    lambda *flags: all(isinstance(flag, (bool, np.bool_)) and not flag for flag in flags),
    "Environment truncates after 1 step, something has gone very wrong.",
)
DATA_IS_NEW = _warning(
    lambda first, second: not data_shares_objects(first, second),
    "The {name}s returned by `{source}` and the following `{following}` share an object, "
    "therefore, modifying one will modify the other. Environments should return new {name} data on "
    "every call as users commonly keep the data returned to them.",
)
DATA_IS_NEVER_REUSED = Rule(
    lambda first, second: not data_shares_objects(first, second),
    "The {name}s returned by `{source}` and `{following}` share an object, therefore, modifying "
    "one will modify the other. Environments must return new {name} data on every call as users "
    "keep the data returned to them.",
)
