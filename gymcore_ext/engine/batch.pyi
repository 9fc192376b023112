from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from gymcore_ext.lazy_dict import Maker

# An array [..., *shape], or a tuple or dict of these, as the layout of a batch says.
Observations = Any

class Batch:
    def __init__(
        self,
        kernel: object,
        num_envs: int,
        *,
        limit: int = 0,
        mode: int = 0,
        num_threads: int | None = 1,
        max_threads: int = 1,
        reuse: bool = False,
        statistics: bool = False,
        errors: Any,
        isa: str | None = None,
        shared: object = None,
        store: object = None,
        choices: int = 0,
        layout: tuple[Any, ...] | None = None,
        copies_actions: bool = False,
        action_groups: tuple[tuple[str, tuple[int, ...]], ...] | None = None,
    ) -> None: ...
    @property
    def num_envs(self) -> int: ...
    @property
    def isa(self) -> str: ...
    @property
    def store(self) -> Any: ...
    @property
    def is_ready(self) -> bool: ...
    @property
    def float32_numbers(self) -> tuple[str, ...]: ...
    @float32_numbers.setter
    def float32_numbers(self, value: tuple[str, ...]) -> None: ...
    @property
    def lazy_infos(self) -> dict[str, Maker] | None: ...
    @lazy_infos.setter
    def lazy_infos(self, value: dict[str, Maker] | None) -> None: ...
    @property
    def spec(self) -> dict[str, Any]: ...
    @property
    def numpy_scalars(self) -> bool: ...
    @numpy_scalars.setter
    def numpy_scalars(self, value: bool) -> None: ...
    @property
    def truncated(self) -> bool: ...
    def close(self) -> None: ...
    def exclusively(self, function: Callable[[], Any]) -> Any: ...
    def mark_ready(self, lanes: npt.NDArray[np.int64] | None = None) -> None: ...
    def require_reset(self) -> None: ...
    def seed(self, entropy: int, lo: int, hi: int) -> None: ...
    def random(self, lanes: npt.NDArray[np.int64], size: int) -> npt.NDArray[np.float64]: ...
    def view_state(self) -> npt.NDArray[np.float64]: ...
    def view_random(self) -> npt.NDArray[np.uint64]: ...
    def view_lifecycle(
        self,
    ) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.int32], npt.NDArray[np.float64]]: ...
    def view_agents(
        self,
    ) -> list[npt.NDArray[Any]]: ...
    def get_parameters(self) -> npt.NDArray[np.float64]: ...
    def set_parameters(self, values: npt.NDArray[np.float64]) -> None: ...
    def step(
        self, actions: npt.ArrayLike
    ) -> tuple[
        Observations,
        npt.NDArray[np.float64],
        npt.NDArray[np.bool_],
        npt.NDArray[np.bool_],
        dict[str, Any],
    ]: ...
    def set_before_reset(
        self,
        before_reset: Callable[
            [npt.NDArray[np.bool_], npt.NDArray[np.int64] | None], dict[str, Any]
        ]
        | None,
    ) -> None: ...
    def step_subset(
        self, actions: npt.ArrayLike, lanes: npt.NDArray[np.int64]
    ) -> tuple[
        Observations,
        npt.NDArray[np.float64],
        npt.NDArray[np.bool_],
        npt.NDArray[np.bool_],
        dict[str, Any],
    ]: ...
    def checked_actions(self, actions: npt.ArrayLike, n: int) -> npt.NDArray[Any]: ...
    def bind_step(
        self,
        actions: npt.ArrayLike,
        observations: Observations,
        rewards: npt.NDArray[np.float64] | npt.NDArray[np.float32],
        terminated: npt.NDArray[np.bool_],
        truncated: npt.NDArray[np.bool_],
        final_observations: Observations | None = None,
        lanes: npt.NDArray[np.int64] | None = None,
    ) -> BoundStep: ...
    def rollout(
        self,
        actions: npt.ArrayLike,
        observations: Observations,
        rewards: npt.NDArray[np.float64],
        terminated: npt.NDArray[np.bool_],
        truncated: npt.NDArray[np.bool_],
        final_observations: Observations | None = None,
        reports: bool = False,
    ) -> dict[str, Any]: ...
    def step_single(self, action: int) -> tuple[Any, float, bool]: ...
    def step_single_array(self, action: npt.ArrayLike) -> tuple[Any, float, bool]: ...
    def reset(
        self,
        mask: npt.NDArray[np.bool_] | None = None,
        options: tuple[float, ...] | None = None,
    ) -> tuple[Any, dict[str, Any]]: ...
    def empty_observations(self, lead: tuple[int, ...]) -> Observations: ...
    def observe(self) -> Any: ...
    def central_state(self) -> npt.NDArray[Any] | None: ...
    def infos(self, beginning: bool = False) -> dict[str, Any]: ...

class BoundStep:
    def __init__(
        self,
        batch: Batch,
        actions: Any,
        observations: Any,
        rewards: npt.NDArray[Any],
        terminated: npt.NDArray[np.bool_],
        truncated: npt.NDArray[np.bool_],
        final_observations: Any,
        lanes: npt.NDArray[np.int64] | None,
    ) -> None: ...
    def __call__(self) -> dict[str, Any]: ...
