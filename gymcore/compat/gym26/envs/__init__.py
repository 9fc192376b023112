"""`gym.envs` of Gym 0.26: its registry; the environments are today's."""

from gymcore.compat.gym26.envs import registration
from gymcore.compat.gym26.envs.registration import load, make, register, registry, spec
from gymcore.utils.lazy_namespace import lazy_namespace

__all__ = ["load", "make", "register", "registration", "registry", "spec"]

__getattr__, __dir__ = lazy_namespace(
    __name__, {"gymcore.envs": ("box2d", "classic_control", "mujoco", "toy_text")}
)
