"""The space of dictionaries with an element of a subspace under each key."""

from __future__ import annotations

import collections.abc
from collections import OrderedDict
from collections.abc import Iterator, KeysView

from gymcore import error
from gymcore.base import program
from gymcore.spaces.composite import Composite
from gymcore.spaces.space import SeedLike, Space, T_co, check_seeds, is_plain

__all__ = ["Dict"]


def _ordered(spaces: object, sort_keys: bool) -> dict[str, Space]:
    """Return the subspaces as a dict in the order of the space; raise if they are invalid."""
    if isinstance(spaces, collections.abc.Mapping) and not isinstance(spaces, OrderedDict):
        if sort_keys:
            try:
                return dict(sorted(spaces.items(), key=lambda item: item[0]))
            except TypeError:
                pass  # keys that cannot be compared keep their order
        return dict(spaces.items())
    if isinstance(spaces, (OrderedDict, collections.abc.Sequence)):
        return dict(spaces)
    if spaces is None:
        return {}
    raise error.ArgumentTypeError(
        "Unexpected Dict space input, expecting dict, OrderedDict or Sequence, "
        f"actual type: {type(spaces)}"
    )


class Dict(Composite[dict[str, T_co]], collections.abc.Mapping[str, Space]):
    """Dictionaries that contain, for each key, an element of that key's subspace.

    The space is itself a mapping from keys to subspaces. `in` checks whether a dictionary belongs
    to the space; use `space.keys()` to check for a key.

    Attributes:
        spaces: The subspaces by key, in the order of the keys of elements.

    Examples:
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

    spaces: dict[str, Space]

    def __init__(
        self,
        spaces: object = None,
        seed: SeedLike = None,
        *,
        sort_keys: bool = True,
        **spaces_kwargs: Space,
    ) -> None:
        """Create the space.

        Args:
            spaces: The subspaces by key: a mapping, or a sequence of pairs.
            seed: Seed as accepted by `seed`, or a generator (which is not used: `sample` uses the
                generators of the subspaces).
            sort_keys: Whether to sort the keys of a mapping. An `OrderedDict` and a sequence of
                pairs always keep their order, as do keys that cannot be compared.
            **spaces_kwargs: More subspaces, added after the others in the given order.

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

    def seed(self, seed: object = None) -> dict[str, object]:
        """Restart the random streams of the subspaces, and return their seeds; see `Space.seed`.

        Args:
            seed: An integer, from which one seed per subspace is drawn; a dict with the seed of
                each subspace; or None for fresh entropy.

        Examples:
            >>> from gymcore.spaces import Discrete
            >>> Dict(a=Discrete(2), b=Discrete(3)).seed(3)
            {'a': 1742692731, 'b': 183930185}
        """
        seeds: dict[str, object]
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
        """Return whether `x` is a dict with exactly one element of each subspace.

        Args:
            x: Anything; only a `dict` can be an element. The order of its keys does not matter.

        Returns:
            True if the keys are those of the space and every value belongs to its subspace.
        """
        if not isinstance(x, dict) or x.keys() != self.spaces.keys():
            return False
        return all(x[key] in space for key, space in self.spaces.items())

    def keys(self) -> KeysView[str]:
        """Return the keys of the space in order."""
        return KeysView(self.spaces)

    def __getitem__(self, key: str) -> Space:
        return self.spaces[key]

    def __setitem__(self, key: str, value: Space) -> None:
        """Set the subspace for a key; a new key is added at the end."""
        if not isinstance(value, Space):
            raise error.ArgumentTypeError(
                f"Trying to set {key} to Dict space with value that is not a {program.package} "
                f"space, actual type: {type(value)}"
            )
        self.spaces[key] = value

    def __iter__(self) -> Iterator[str]:
        return iter(self.spaces)

    def __repr__(self) -> str:
        return f"Dict({', '.join(f'{key!r}: {space}' for key, space in self.spaces.items())})"

    def __eq__(self, other: object) -> bool:
        """Return whether `other` is a `Dict` with equal subspaces, in any order."""
        return isinstance(other, Dict) and self.spaces == other.spaces
