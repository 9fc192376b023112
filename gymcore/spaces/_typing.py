"""The type variables of the generic spaces, so that `Box[np.float32]` can be written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    # With defaults, a plain `Box` in an annotation means `Box[Any]`.
    from typing_extensions import TypeVar

    T_co = TypeVar("T_co", covariant=True, default=Any)
    ScalarT_co = TypeVar("ScalarT_co", bound=np.generic, covariant=True, default=Any)
    IntegerT_co = TypeVar("IntegerT_co", bound=np.integer[Any], covariant=True, default=Any)
else:
    from typing import TypeVar

    T_co = TypeVar("T_co", covariant=True)
    ScalarT_co = TypeVar("ScalarT_co", bound=np.generic, covariant=True)
    IntegerT_co = TypeVar("IntegerT_co", bound=np.integer, covariant=True)
