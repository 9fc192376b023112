"""`gymnasium.core` of 0.29, which is that of Gym 0.26."""

from gymcore.compat.gym26.core import ActionWrapper, Env, ObservationWrapper, RewardWrapper, Wrapper

__all__ = ["ActionWrapper", "Env", "ObservationWrapper", "RewardWrapper", "Wrapper"]
