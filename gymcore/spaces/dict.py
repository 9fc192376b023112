"""The space of dictionaries, one element of a space under each key."""

from __future__ import annotations

import collections.abc
from collections import OrderedDict
from collections.abc import Iterator, KeysView
from typing import Any

from gymcore import error
from gymcore.base import program
from gymcore.spaces.composite import Composite
from gymcore.spaces.space import SeedLike, Space, T_co, check_seeds, is_plain

__all__ = ["Dict"]


def _ordered(spaces: object, sort_keys: bool) -> dict[Any, Space]:
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


class Dict(Composite[dict[str, T_co]], collections.abc.Mapping[str, Any]):
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

    spaces: dict[Any, Space]

    def __init__(
        self,
        spaces: object = None,
        seed: SeedLike = None,
        *,
        sort_keys: bool = True,
        **spaces_kwargs: Space,
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
        self.spaces = _ordered(spaces, sort_keys)
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

    def seed(self, seed: object = None) -> dict[str, Any]:
        """Restart the random streams of the subspaces, and return their seeds; see `Space.seed`.

        Args:
            seed: An integer, from which one seed per subspace is drawn; or a dict with the seed of
                each subspace; or None for fresh entropy.

        Example:
            >>> from gymcore.spaces import Discrete
            >>> Dict(a=Discrete(2), b=Discrete(3)).seed(3)
            {'a': 1742692731, 'b': 183930185}
        """
        seeds: dict[Any, object]
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

    def _check_option(self, name: str, option: object) -> None:
        name = "probability mask" if name == "probability" else name
        if not isinstance(option, dict):
            raise error.InvalidMask(
                f"Expected sample {name} to be a dict, actual type: {type(option)}"
            )
        if option.keys() != self.spaces.keys():
            raise error.InvalidMask(
                f"Expected sample {name} keys to be same as space keys, "
                f"mask keys: {option.keys()}, space keys: {self.spaces.keys()}"
            )

    def contains(self, x: object) -> bool:
        """Tell whether `x` is a dict with an element of each subspace and nothing else.

        Args:
            x: Anything; only a `dict` can be an element. The order of its keys does not matter.

        Returns:
            True if the keys are those of the space and every value belongs to its subspace.
        """
        if not isinstance(x, dict) or x.keys() != self.spaces.keys():
            return False
        return all(x[key] in space for key, space in self.spaces.items())

    def keys(self) -> KeysView[Any]:
        """Return the keys of the space, in its order."""
        return KeysView(self.spaces)

    def __getitem__(self, key: str) -> Space:
        """Return the subspace of a key."""
        return self.spaces[key]

    def __setitem__(self, key: str, value: Space) -> None:
        """Set the subspace of a key; a new key goes to the end."""
        if not isinstance(value, Space):
            raise error.ArgumentTypeError(
                f"Trying to set {key} to Dict space with value that is not a {program.package} "
                f"space, actual type: {type(value)}"
            )
        self.spaces[key] = value

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the keys, in the order of the space."""
        return iter(self.spaces)

    def __repr__(self) -> str:
        """Show the subspaces by key."""
        return f"Dict({', '.join(f'{key!r}: {space}' for key, space in self.spaces.items())})"

    def __eq__(self, other: object) -> bool:
        """Tell whether `other` is a `Dict` of equal subspaces, in whatever order."""
        return isinstance(other, Dict) and self.spaces == other.spaces
