"""Reading model files and adding elements to them."""

from __future__ import annotations

from pathlib import Path
from xml.etree.ElementTree import Element, parse

from gymcore.error import InvalidArgument

FOLDER = Path(__file__).parent


def read(file: str) -> Element:
    """Return the root element of a model file, with the elements of included files in place."""
    root = parse(FOLDER / file).getroot()
    for include in root.findall("include"):
        position = list(root).index(include)
        root.remove(include)
        root[position:position] = list(read(include.attrib["file"]))
    return root


def find(root: Element, tag: str, name: str) -> Element:
    """Return the element with a tag and a name."""
    return next(element for element in root.iter(tag) if element.get("name") == name)


def section(root: Element, tag: str) -> Element:
    """Return a section of a model, such as `actuator`."""
    return next(child for child in root if child.tag == tag)


def element(tag: str, name: str | None = None, **attributes: object) -> Element:
    """Return a new element.

    Attributes are numbers, sequences of numbers or text; `class_` is `class`.
    """
    texts = {key.rstrip("_"): text(value) for key, value in attributes.items()}
    return Element(tag, {} if name is None else {"name": name}, **texts)


def add(parent: Element, tag: str, name: str | None = None, **attributes: object) -> Element:
    """Append a new element, see `element`, and return it."""
    child = element(tag, name, **attributes)
    parent.append(child)
    return child


def text(value: object) -> str:
    """Return a value of an attribute as text; a float is written such that it is read unchanged."""
    if isinstance(value, (list, tuple)):
        return " ".join(map(text, value))
    return repr(float(value)) if isinstance(value, float) else str(value)


def check_count(name: str, count: int, minimum: int) -> None:
    """Raise `InvalidArgument` if a count is less than allowed."""
    if count < minimum:
        raise InvalidArgument(f"{name}: expected at least {minimum}, got {count}")
