"""`LazyDict` reads as the plain dict that it stands for, whatever is done in whatever order."""

import copy
import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gymcore_ext.lazy_dict import LazyDict, with_lazy_infos

ENTRIES = {"numbers": [1, 2], "text": "x", "final": [3]}
MAKERS = {"total": (sum, "numbers"), "same": "numbers", "final": (len, "final"), "new": (str, "no")}
PLAIN = {"numbers": [1, 2], "text": "x", "final": 1, "total": 3, "same": [1, 2], "new": "None"}
KEYS = [*PLAIN, "missing"]


def match(infos):
    match infos:
        case {"total": total, "final": final, **rest}:
            return total, final, rest


READS = {
    "==": lambda infos: (infos == PLAIN, infos != {}, infos == LazyDict(infos)),
    "== on the right": lambda infos: dict(PLAIN) == infos,
    "bool": bool,
    "copy": lambda infos: infos.copy(),
    "copy.copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "dict": dict,
    "double star": lambda infos: {**infos},
    "hash": hash,
    "items": lambda infos: list(infos.items()),
    "iterate": lambda infos: [(key, infos[key]) for key in infos],
    "json": json.dumps,
    "keys": lambda infos: list(infos.keys()),
    "keyword arguments": lambda infos: (lambda **entries: entries)(**infos),
    "len": len,
    "list": list,
    "match": match,
    "or": lambda infos: infos | {"total": 5},
    "pickle": lambda infos: pickle.loads(pickle.dumps(infos)),
    "repr": repr,
    "reversed": lambda infos: list(reversed(infos)),
    "right or": lambda infos: {"total": 5, "first": 0} | infos,
    "update of another": lambda infos: [other := {"total": 0}, other.update(infos)],
    "values": lambda infos: list(infos.values()),
}
BY_KEY = {
    "del": lambda infos, key: infos.__delitem__(key),
    "get": lambda infos, key: infos.get(key, 9),
    "get without default": lambda infos, key: infos.get(key),
    "getitem": lambda infos, key: infos[key],
    "in": lambda infos, key: key in infos,
    "pop": lambda infos, key: infos.pop(key),
    "pop with default": lambda infos, key: infos.pop(key, 9),
    "set": lambda infos, key: infos.__setitem__(key, 7),
    "setdefault": lambda infos, key: infos.setdefault(key, 8),
    "update": lambda infos, key: infos.update({key: 6}),
    "update with keywords": lambda infos, key: infos.update([("text", 4)], **{key: 6}),
    "|=": lambda infos, key: infos.__ior__({key: 5}),
}
OTHERS = {"clear": lambda infos: infos.clear(), "popitem": lambda infos: infos.popitem()}


def result(call, *args):
    """Return what a call returns, or the type of its exception."""
    try:
        value = call(*args)
    except (KeyError, TypeError) as problem:
        return type(problem), problem.args if isinstance(problem, KeyError) else None
    return None if value is args[0] else value


def make_lazy():
    return LazyDict(ENTRIES, MAKERS)


@pytest.mark.parametrize("way", READS)
def test_reading_first(way):
    read = result(READS[way], make_lazy())
    expected = result(READS[way], dict(PLAIN))
    assert read == expected
    assert type(read) is type(expected)
    if isinstance(read, dict):
        assert list(read.items()) == list(expected.items())


CALLS = st.one_of(
    st.sampled_from([*READS.values(), *OTHERS.values()]).map(lambda call: (call,)),
    st.tuples(st.sampled_from(list(BY_KEY.values())), st.sampled_from(KEYS)),
)


@pytest.mark.slow
@given(st.lists(CALLS, max_size=8))
def test_any_order_of_calls(calls):
    lazy, plain = make_lazy(), dict(PLAIN)
    for call, *key in calls:
        assert result(call, lazy, *key) == result(call, plain, *key)
    assert list(lazy.items()) == list(plain.items())
    assert ENTRIES == {"numbers": [1, 2], "text": "x", "final": [3]}


def test_values_are_made_once_and_only_when_they_are_read():
    made = []
    lazy = LazyDict(
        {"a": 1}, {name: (lambda a, name=name: made.append(name), "a") for name in "bc"}
    )
    assert "b" in lazy and len(lazy) == 3 and list(lazy) == ["a", "b", "c"]
    lazy["d"] = 5
    assert lazy["a"] == 1 and made == []
    assert lazy["c"] is lazy["c"] is None and made == ["c"]
    dict(lazy), lazy.items()
    assert made == ["c", "b"]


def test_functions_get_the_entries_that_were_given():
    entries = dict(ENTRIES)
    lazy = LazyDict(entries, MAKERS)
    entries["numbers"] = lazy["numbers"] = [100]
    assert lazy["total"] == 3 and lazy["numbers"] == [100] and lazy["same"] == [1, 2]


def test_a_function_that_fails_is_called_again():
    lazy = LazyDict({"a": 1}, {"b": (len, "a")})
    for read in (lambda: lazy["b"], lazy.copy, lambda: lazy["b"]):
        with pytest.raises(TypeError):
            read()
    assert lazy["a"] == 1 and len(lazy) == 2


@pytest.mark.parametrize("infos", [{}, {"total": 1, "numbers": [2]}])
def test_infos_that_need_no_names_are_returned(infos):
    results = (0, 1.0, False, False, infos)
    assert with_lazy_infos("numbers", "total", MAKERS, results) is results


def test_results_of_a_step():
    results = (0, 1.0, False, False, {"numbers": [1, 2]})
    *rest, infos = with_lazy_infos("numbers", "total", MAKERS, results)
    assert rest == [0, 1.0, False, False] and infos["total"] == 3
    assert results[4] == {"numbers": [1, 2]}
