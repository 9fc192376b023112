"""Steps in Python, for a single environment whose class overrides a part of the compiled step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gymcore.core import Info
from gymcore_ext.engine.batch import Batch

if TYPE_CHECKING:
    from weakref import ReferenceType


class PythonStepBatch(Batch):
    """The batch of one lane of an environment, whose method `step_in_python` steps it.

    Attributes:
        env: A weak reference to the environment, which owns the batch.
    """

    env: ReferenceType[Any]
    _infos: Info

    def step_single(self, action: int) -> tuple[object, float, bool]:
        """Step by a discrete action; return the observation, the reward and `terminated`."""
        return self._step(action) if self.is_ready else super().step_single(action)  # raises

    def step_single_array(self, action: Any) -> tuple[object, float, bool]:
        """Step by an action that is an array; return the results of `step_single`."""
        return self._step(action) if self.is_ready else super().step_single_array(action)

    def _step(self, action: object) -> tuple[object, float, bool]:
        env = self.env()
        assert env is not None
        reward, terminated, self._infos = env.step_in_python(action)
        return self.observe(), reward, terminated

    def infos(self, beginning: bool = False) -> Info:
        """Return the infos of the last step, or of the beginning of an episode."""
        return super().infos(True) if beginning else self._infos
