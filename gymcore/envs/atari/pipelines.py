"""How an Atari game's frames and rewards are processed: the stages of three libraries, by name."""

from __future__ import annotations

import dataclasses

from gymcore.error import ArgumentTypeError, InvalidArgument
from gymcore.specs.env_spec import Kwargs
from gymcore_ext.atari.games import LIMITS


@dataclasses.dataclass(frozen=True)
class Pipeline:
    """The stages between the emulator and an agent; `PRESETS` are those of other libraries.

    A step plays `frameskip` frames, observes the brighter of the last two, rescales it as
    `cv2.resize` with INTER_AREA does, and stacks it. A reset plays no-ops: `noop_min` and up to
    `noop_max - 1` more, one fewer if FIRE is pressed, which the game must have.
    """

    frameskip: int = 4
    """Frames of a step."""
    maxpool: bool = True
    """Whether a step observes the brighter of its last two frames, instead of the last one."""
    grayscale: bool = True
    """Whether frames are gray [height, width], instead of color with an axis of three."""
    channels_first: bool = False
    """Whether colors are [stack_num * 3, height, width], not [stack_num, height, width, 3]."""
    img_height: int = 84
    """Rows of an observation, at most those of the screen."""
    img_width: int = 84
    """Columns of an observation, at most those of the screen."""
    stack_num: int = 4
    """Frames of an observation, the oldest first."""
    stack_padding: str = "zero"
    """What is in the stack before the first frame: "zero", or "reset" for that frame."""
    noop_max: int = 30
    """Number of different counts of no-ops; 0 for no no-ops."""
    noop_min: int = 0
    """The smallest count of no-ops."""
    noop_seeding: str = "mt19937"
    """What draws the count, and its seed: "mt19937" takes the seed itself, as C++ libraries do;
    "gymnasium" is the environment's `np_random`, seeded as ale-py's environment seeds it."""
    use_fire_reset: bool = True
    """Whether a reset presses FIRE in games that have it."""
    fire_first: bool = True
    """Whether it does so before the no-ops, instead of after them."""
    episodic_life: bool = False
    """Whether a lost life ends an episode."""
    life_loss_info: bool = False
    """Whether a lost life is reported as `terminated` while the episode goes on."""
    last_life_counts: bool = False
    """Whether losing the last life counts, in games that go on without lives."""
    life_loss_ends_step: bool = True
    """Whether a lost life ends the episode at once, instead of after all frames of the step."""
    life_loss_continues: bool = False
    """Whether the next episode after a lost life continues the game."""
    shows_end: bool = False
    """Whether the frame that ends an episode is observed, instead of the ones before it."""
    reward_clipping: bool = True
    """Whether rewards are clipped to -1, 0 or 1. Reported returns are not clipped."""
    max_num_frames_per_episode: int = 108_000
    """Frames after which an episode is truncated; 0 for never."""
    frame_limit: str = "frames"
    """What the limit counts: "frames" of the episode without its reset, "game_frames" with it, or
    "steps" of `frameskip` frames each, over all lives of a game."""
    reports_lanes: bool = dataclasses.field(default=True, repr=False)  # not in digests of states
    """Whether every info has `env_id`, the indices of the lanes."""

    def __post_init__(self) -> None:
        """Check the values.

        Raises:
            InvalidArgument: If a value is out of range.
            ArgumentTypeError: If a value is of the wrong type.
        """
        for field in dataclasses.fields(self):
            value, default = getattr(self, field.name), field.default
            if isinstance(default, bool):
                if value not in (True, False):
                    raise ArgumentTypeError(f"{field.name}: expected True or False, got {value!r}")
            elif isinstance(default, int):
                if isinstance(value, bool) or not hasattr(value, "__index__"):
                    hint = ""
                    if field.name == "frameskip":
                        hint = "; vectorization_mode='async' takes a range, without a preset"
                    raise ArgumentTypeError(f"{field.name}: expected an int, got {value!r}{hint}")
                low = 0 if field.name.startswith(("noop", "max")) else 1
                if not low <= value < 2**30:
                    raise InvalidArgument(f"{field.name}: expected at least {low}, got {value}")
            elif value not in _CHOICES[field.name]:
                choices = ", ".join(map(repr, _CHOICES[field.name]))
                raise InvalidArgument(f"{field.name}: expected one of {choices}, got {value!r}")

    @property
    def observation_shape(self) -> tuple[int, ...]:
        """The shape of an observation, uint8."""
        height, width = self.img_height, self.img_width
        if self.grayscale:
            return self.stack_num, height, width
        if self.channels_first:
            return 3 * self.stack_num, height, width
        return self.stack_num, height, width, 3

    def numbers(self, has_fire: bool, continuous: bool) -> dict[str, float]:
        """Return the fields of the compiled struct by name, and some that it ignores."""
        limit = self.max_num_frames_per_episode
        return {
            **vars(self),
            "maxpool": self.maxpool and self.frameskip > 1,
            "channels": 1 if self.grayscale else 3,
            "noop_rng": self.noop_seeding == "gymnasium",
            "fire": self.use_fire_reset and has_fire,
            "pad_zeros": self.stack_padding == "zero",
            "limit": -(-limit // self.frameskip) if self.frame_limit == "steps" else limit,
            "limit_unit": LIMITS.index(self.frame_limit),
            "continuous": continuous,
        }


_CHOICES = {
    "stack_padding": ("zero", "reset"),
    "noop_seeding": ("mt19937", "gymnasium"),
    "frame_limit": LIMITS,
}

PRESETS = {
    # ale_py.AtariVectorEnv, what Gymnasium's make_vec makes of "ALE/..." ids.
    "ale_vector": Pipeline(),
    # Gymnasium's AtariPreprocessing and FrameStackObservation, over ale-py's environment.
    "gymnasium": Pipeline(
        stack_padding="reset",
        noop_min=1,
        noop_seeding="gymnasium",
        use_fire_reset=False,
        last_life_counts=True,
        reward_clipping=False,
        frame_limit="game_frames",
        reports_lanes=False,
    ),
    # EnvPool's Atari environments.
    "envpool": Pipeline(
        channels_first=True,
        stack_padding="reset",
        noop_min=1,
        fire_first=False,
        life_loss_ends_step=False,
        life_loss_continues=True,
        shows_end=True,
        reward_clipping=False,
        frame_limit="steps",
    ),
}
"""The stages of other libraries, by name."""

STAGES = tuple(field.name for field in dataclasses.fields(Pipeline))
"""Names of the stages."""


def pipeline_of(preset: str, stages: Kwargs) -> Pipeline:
    """Return a preset with some stages changed.

    Raises:
        InvalidArgument: If there is no such preset, or a value is out of range.
        ArgumentTypeError: If a value is of the wrong type.
    """
    if preset not in PRESETS:
        raise InvalidArgument(f"preset: expected one of {', '.join(PRESETS)}, got {preset!r}")
    return dataclasses.replace(PRESETS[preset], **stages)
