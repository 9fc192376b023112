"""The space of dictionaries, one element of a space under each key."""

from __future__ import annotations

import collections.abc
from collections import OrderedDict
from collections.abc import Iterable, Iterator, KeysView
from typing import Any

from gymcore import error
from gymcore.spaces.masks import reject_both
from gymcore.spaces.space import Space, T_co, check_seeds, is_plain

__all__ = ["Dict"]


def _ordered(spaces: Any, sort_keys: bool) -> dict[Any, Any]:
    """Return the subspaces as a dict in the order of the space, or raise."""
    if isinstance(spaces, collections.abc.Mapping) and not isinstance(spaces, OrderedDict):
        if sort_keys:
            try:
                return dict(sorted(spaces.items(), key=lambda item: item[0]))
            except TypeError:
                pass  # keys without an order among them stay as they come
        return dict(spaces.items())
    if isinstance(spaces, (OrderedDict, collections.abc.Sequence)):
        return dict(spaces)
    if spaces is None:
        return {}
    raise error.ArgumentTypeError(
        "Unexpected Dict space input, expecting dict, OrderedDict or Sequence, "
        f"actual type: {type(spaces)}"
    )


class Dict(Space[dict[str, T_co]], collections.abc.Mapping[str, Any]):
    """Dictionaries that hold, under each key, an element of the subspace of that key.

    The space is itself a mapping from keys to subspaces. `in` asks whether a dictionary belongs to
    the space; use `space.keys()` to ask for a key.

    Attributes:
        spaces: The subspaces by key, in the order in which elements hold them.

    Example:
        >>> from gymcore.spaces import Box, Discrete
        >>> space = Dict({"position": Box(-1, 1, shape=(2,)), "color": Discrete(3)}, seed=42)
        >>> space
        Dict('color': Discrete(3), 'position': Box(-1.0, 1.0, (2,), float32))
        >>> element = space.sample()
        >>> int(element["color"]), element["position"].shape
        (0, (2,))
        >>> element in space
        True
    """

    def __init__(
        self,
        spaces: Any | None = None,
        seed: Any | None = None,
        *,
        sort_keys: bool = True,
        **spaces_kwargs: Space[Any],
    ) -> None:
        """Make the space.

        Args:
            spaces: The subspaces by key: a mapping, or a sequence of pairs.
            seed: A seed as `seed` takes it, or a generator (from which nothing is drawn: `sample`
                uses the generators of the subspaces).
            sort_keys: Whether a mapping is put in the order of its keys. An `OrderedDict` and a
                sequence of pairs always keep their order, and so do keys that cannot be compared.
            **spaces_kwargs: More subspaces, behind the others, in the order given.

        Raises:
            ArgumentTypeError: If `spaces` has another type, or a value is not a space.
            InvalidArgument: If a keyword is also a key of `spaces`.
        """
        self.sort_keys = sort_keys
        self.spaces: dict[Any, Space[Any]] = _ordered(spaces, sort_keys)
        for key, space in spaces_kwargs.items():
            if key in self.spaces:
                raise error.InvalidArgument(
                    f"Dict space keyword '{key}' already exists in the spaces dictionary."
                )
            self.spaces[key] = space
        for key, space in self.spaces.items():
            if not isinstance(space, Space):
                raise error.ArgumentTypeError(
                    f"Dict space element is not an instance of Space: key='{key}', space={space}"
                    f"{error.bridge_hint(space)}"
                )
        super().__init__(None, None, seed)

    @property
    def is_np_flattenable(self) -> bool:
        """Whether all subspaces can be flattened to arrays."""
        return all(space.is_np_flattenable for space in self.spaces.values())

    def seed(self, seed: Any | None = None) -> dict[str, Any]:
        """Restart the random streams of the subspaces.

        Args:
            seed: An integer, from which one seed per subspace is drawn; or a dict with the seed of
                each subspace; or None for fresh entropy.

        Returns:
            The seeds of the subspaces by key.

        Raises:
            ArgumentTypeError: If `seed` is none of these.
            InvalidArgument: If the keys differ from those of the space, or a seed is negative.

        Example:
            >>> from gymcore.spaces import Discrete
            >>> Dict(a=Discrete(2), b=Discrete(3)).seed(3)
            {'a': 1742692731, 'b': 183930185}
        """
        seeds: dict[Any, Any]
        if seed is None:
            seeds = dict.fromkeys(self.spaces)
        elif isinstance(seed, dict):
            if seed.keys() != self.spaces.keys():
                raise error.InvalidArgument(
                    f"The seed keys: {seed.keys()} are not identical to space keys: "
                    f"{self.spaces.keys()}"
                )
            check_seeds(seed.values())
            seeds = seed
        elif is_plain(seed):
            subseeds = self._draw_subseeds(seed, len(self.spaces))
            seeds = dict(zip(self.spaces, subseeds, strict=True))
        else:
            raise error.ArgumentTypeError(
                f"Expected seed type: dict, int or None, actual type: {type(seed)}"
            )
        return {key: self.spaces[key].seed(subseed) for key, subseed in seeds.items()}

    def sample(
        self,
        mask: dict[str, Any] | None = None,
        probability: dict[str, Any] | None = None,
    ) -> dict[str, T_co]:
        """Draw a random element of each subspace.

        Args:
            mask: A dict with the mask of each subspace, or None for it.
            probability: Likewise with probabilities. At most one of the two may be given.

        Returns:
            A new dict, in the order of the space.

        Raises:
            InvalidMask: If `mask` or `probability` is not a dict with the keys of the space, or a
                value does not fit its subspace.
            InvalidArgument: If both are given.
        """
        if mask is not None:
            reject_both(mask, probability)
            self._check(mask, "mask")
            return {key: space.sample(mask=mask[key]) for key, space in self.spaces.items()}
        if probability is not None:
            self._check(probability, "probability mask")
            return {
                key: space.sample(probability=probability[key])
                for key, space in self.spaces.items()
            }
        return {key: space.sample() for key, space in self.spaces.items()}

    def _check(self, mask: Any, name: str) -> None:
        """Raise if a mask is not a dict with the keys of the space."""
        if not isinstance(mask, dict):
            raise error.InvalidMask(
                f"Expected sample {name} to be a dict, actual type: {type(mask)}"
            )
        if mask.keys() != self.spaces.keys():
            raise error.InvalidMask(
                f"Expected sample {name} keys to be same as space keys, "
                f"mask keys: {mask.keys()}, space keys: {self.spaces.keys()}"
            )

    def contains(self, x: Any) -> bool:
        """Tell whether `x` is a dict with an element of each subspace and nothing else.

        Args:
            x: Anything; only a `dict` can be an element. The order of its keys does not matter.

        Returns:
            True if the keys are those of the space and every value belongs to its subspace.
        """
        if not isinstance(x, dict) or x.keys() != self.spaces.keys():
            return False
        return all(x[key] in space for key, space in self.spaces.items())

    def to_jsonable(self, sample_n: Iterable[dict[str, Any]]) -> dict[str, Any]:
        """Turn a batch of dicts into one dict of batches; see `Space.to_jsonable`."""
        samples = list(sample_n)
        return {
            key: space.to_jsonable([sample[key] for sample in samples])
            for key, space in self.spaces.items()
        }

    def from_jsonable(self, sample_n: dict[str, Any]) -> list[dict[str, Any]]:
        """Turn the result of `to_jsonable` back into dicts; see `Space.from_jsonable`."""
        columns = [space.from_jsonable(sample_n[key]) for key, space in self.spaces.items()]
        return [dict(zip(self.spaces, row, strict=True)) for row in zip(*columns, strict=True)]

    def keys(self) -> KeysView[Any]:
        """Return the keys of the space, in its order."""
        return KeysView(self.spaces)

    def __getitem__(self, key: str) -> Space[Any]:
        """Return the subspace of a key."""
        return self.spaces[key]

    def __setitem__(self, key: str, value: Space[Any]) -> None:
        """Set the subspace of a key; a new key goes to the end."""
        if not isinstance(value, Space):
            raise error.ArgumentTypeError(
                f"Trying to set {key} to Dict space with value that is not a gymcore space, "
                f"actual type: {type(value)}"
            )
        self.spaces[key] = value

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the keys, in the order of the space."""
        return iter(self.spaces)

    def __len__(self) -> int:
        """Return the number of subspaces."""
        return len(self.spaces)

    def __repr__(self) -> str:
        """Show the subspaces by key."""
        return f"Dict({', '.join(f'{key!r}: {space}' for key, space in self.spaces.items())})"

    def __eq__(self, other: object) -> bool:
        """Tell whether `other` is a `Dict` of equal subspaces, in whatever order."""
        return isinstance(other, Dict) and self.spaces == other.spaces
