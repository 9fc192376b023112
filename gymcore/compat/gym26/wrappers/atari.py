"""`AtariPreprocessing` of Gym 0.26."""

from __future__ import annotations

from typing import Any

from gymcore import error
from gymcore.compat.forwarding import Forwarding
from gymcore.core import Env
from gymcore.wrappers import atari_preprocessing

__all__ = ["AtariPreprocessing"]


class AtariPreprocessing(Forwarding, atari_preprocessing.AtariPreprocessing[Any]):
    """Prepare an Atari environment for learning from pictures (Gym 0.26).

    As `gymcore.wrappers.AtariPreprocessing`, but an environment without a spec, or with
    "NoFrameskip" in its id, need not say that it repeats no action, and wrong arguments are
    `AssertionError`s too.
    """

    def __init__(
        self,
        env: Env[Any, Any],
        noop_max: int = 30,
        frame_skip: int = 4,
        screen_size: int = 84,
        terminal_on_life_loss: bool = False,
        grayscale_obs: bool = True,
        grayscale_newaxis: bool = False,
        scale_obs: bool = False,
    ) -> None:
        """Wrap `env`; see `gymcore.wrappers.AtariPreprocessing`.

        Args:
            env: An Atari environment that does not skip frames itself.
            noop_max: Most steps without action after a reset.
            frame_skip: How often to repeat an action.
            screen_size: Width and height of observations.
            terminal_on_life_loss: End an episode when a life is lost.
            grayscale_obs: Return grey pictures.
            grayscale_newaxis: Return grey pictures `[height, width, 1]`.
            scale_obs: Return float32 numbers in [0, 1].

        Raises:
            FailedTypeCheck: (also an `AssertionError`) for an argument of a wrong type.
            FailedCheck: (also an `AssertionError`) for an impossible one, or an environment that
                skips frames.
            DependencyNotInstalled: if OpenCV is not installed.
        """
        try:
            atari_preprocessing.AtariPreprocessing.__init__(
                self,
                env,
                noop_max,
                frame_skip,
                screen_size,
                terminal_on_life_loss,
                grayscale_obs,
                grayscale_newaxis,
                scale_obs,
            )
        except error.InvalidArgument as problem:
            raise error.FailedCheck(str(problem)) from None
        except error.ArgumentTypeError as problem:
            raise error.FailedTypeCheck(str(problem)) from None

    def _env_skips_frames(self) -> bool:
        """Tell whether the environment has to be taken for one that repeats actions."""
        spec = self.env.spec
        if spec is None or "NoFrameskip" in spec.id:
            return False
        return super()._env_skips_frames()
