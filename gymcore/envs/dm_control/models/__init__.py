"""The models of the DeepMind control suite, described anew in MJCF.

A model is a file `<domain>.xml`, or such a file and a function that completes it. Everything that
physics uses equals the suite's models to the bit, as do the names and the order of all elements.
Textures and materials are simpler.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from xml.etree.ElementTree import Element, tostring

from gymcore.envs.dm_control.models.arms import manipulator, stacker
from gymcore.envs.dm_control.models.dog import dog
from gymcore.envs.dm_control.models.generated import cartpole, lqr, swimmer
from gymcore.envs.dm_control.models.mjcf import FOLDER, read
from gymcore.envs.dm_control.models.quadruped import quadruped
from gymcore.error import InvalidArgument

__all__ = ["DOMAINS", "model_xml"]

_BUILDERS: dict[str, Callable[..., Element]] = {
    builder.__name__: builder
    for builder in (cartpole, dog, lqr, manipulator, quadruped, stacker, swimmer)
}
DOMAINS = sorted({file.stem for file in FOLDER.glob("*.xml")} - {"arm", "common"})


def model_xml(domain: str, **arguments: object) -> str:
    """Return the model of a domain as MJCF text that needs no other files.

    Args:
        domain: One of `DOMAINS`.
        arguments: Those of the function with the name of the domain in this package, if any.

    Raises:
        InvalidArgument: If there is no such domain, or an argument is not one of the domain's.

    Examples:
        >>> from gymcore.envs.dm_control.models import model_xml
        >>> model_xml("cartpole", poles=3).count("<body")
        4
    """
    if domain not in DOMAINS:
        raise InvalidArgument(f"domain: expected one of {', '.join(DOMAINS)}, got {domain!r}")
    build = _BUILDERS.get(domain, lambda: read(f"{domain}.xml"))
    parameters = signature(build).parameters
    for name in arguments:
        if name not in parameters:
            known = ", ".join(parameters) or "none"
            raise InvalidArgument(f"{name}: expected an argument of {domain}, which has {known}")
    if domain == "lqr" and "stiffness" not in arguments:
        raise InvalidArgument(
            "stiffness: expected the stiffness of each spring of lqr, got nothing"
        )
    return tostring(build(**arguments), encoding="unicode")
