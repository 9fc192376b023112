"""The optional packages, and the commands that install them."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

from gymcore.error import DependencyNotInstalled

# Import name of every optional package -> the distribution that contains it.
OPTIONAL_PACKAGES = {
    "pygame": "pygame-ce",
    # Python 3.14 has no wheel of Box2D: pip builds box2d-py there.
    "Box2D": "box2d" if sys.version_info < (3, 14) else "box2d-py",
    "mujoco": "mujoco",
    "ale_py": "ale-py",
    "cv2": "opencv-python-headless",
    "imageio": "imageio",
    "imageio_ffmpeg": "imageio-ffmpeg",
    "h5py": "h5py",
    "lz4": "lz4",
    "matplotlib": "matplotlib",
    "cryptography": "cryptography",
    "msgpack": "msgpack",
    "ray": "ray",
    "tensorboardX": "tensorboardX",
    "torch": "torch",
    "jax": "jax",
    "numba": "numba",
    "gymnasium": "gymnasium",
    "envpool": "envpool",
    "stable_baselines3": "stable-baselines3",
    "torchrl": "torchrl",
    "tianshou": "tianshou",
    "rl_games": "rl-games",
    "dm_env": "dm-env",
    "pufferlib": "pufferlib",
}


def pip_install(*modules: str) -> str:
    """Return the command that installs modules, for messages about missing modules.

    Args:
        modules: Import names. A module that is not in `OPTIONAL_PACKAGES` is assumed to be in a
            distribution of the same name.

    Examples:
        >>> pip_install("cv2", "msgpack")
        'pip install opencv-python-headless msgpack'
    """
    return " ".join(["pip install", *(OPTIONAL_PACKAGES.get(name, name) for name in modules)])


@contextlib.contextmanager
def needs(module: str, name: str | None = None) -> Iterator[None]:
    """Turn an `ImportError` in the block, which imports a module, into `DependencyNotInstalled`.

    The message contains the command that installs the module. `name` is the name of the package if
    its distribution has a different name.

    Examples:
        >>> with needs("dm_env"):
        ...     import no_such_module
        Traceback (most recent call last):
        gymcore.error.DependencyNotInstalled: dm-env is not installed, run `pip install dm-env`
    """
    try:
        yield
    except ImportError as missing:
        raise DependencyNotInstalled(
            f"{name or OPTIONAL_PACKAGES[module]} is not installed, run `{pip_install(module)}`"
        ) from missing
