"""Wrappers that change observations: compared with Gymnasium, and alone."""

from __future__ import annotations

import functools
import sys
import warnings

import gymnasium
import numpy as np
import pytest

import gymcore as gym
from gymcore import error
from gymcore.wrappers import (
    AddRenderObservation,
    DiscretizeObservation,
    DtypeObservation,
    FilterObservation,
    FlattenObservation,
    GrayscaleObservation,
    RescaleObservation,
    ReshapeObservation,
    ResizeObservation,
    TransformObservation,
)
from tests.testing_env import OBSERVATION_KINDS, assert_same
from tests.wrappers.side_by_side import check_side_by_side
from tests.wrappers.walk_env import make_walk_env

WalkEnv = make_walk_env(gym)


def make(space=None, **kwargs):
    return WalkEnv(observation_space=space, **kwargs)


def box(low, high, shape=(2,), dtype=np.float32):
    return gym.spaces.Box(low, high, shape, dtype)


def bytes_box(*shape):
    return gym.spaces.Box(0, 255, shape, np.uint8)


def check(name, *args, space=None, **kwargs):
    """Compare a wrapper with Gymnasium's; `space(package)` makes the observation space."""

    def wrap(package, env):
        if space is not None:
            env.observation_space = space(package.spaces)
        return getattr(package.wrappers, name)(env, *args)

    check_side_by_side(wrap, steps=18, **kwargs)


# --- parity ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [None, np.float64])
def test_transform(dtype):
    def wrap(package, env):
        space = None if dtype is None else package.spaces.Box(-20, 20, (2,), dtype)
        func = (lambda o: -o) if dtype is None else (lambda o: o.astype(dtype) * 2)
        return package.wrappers.TransformObservation(env, func, space)

    check_side_by_side(wrap)


@pytest.mark.parametrize("keys", [["goal"], ("position", "goal"), ["camera", "position", "camera"]])
def test_filter_dict(keys):
    check("FilterObservation", keys, kind="dict")


@pytest.mark.parametrize("keys", [[2, 0], [1], (-1,), [0, 1, 2]])
def test_filter_tuple(keys):
    check("FilterObservation", keys, kind="tuple")


@pytest.mark.parametrize("kind", OBSERVATION_KINDS)
def test_flatten(kind):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the next test expects it
        check("FlattenObservation", kind=kind)


@pytest.mark.parametrize("batch", [False, True], ids=["single", "batch"])
def test_flattening_what_has_no_fixed_size_warns(batch):
    space = gym.spaces.Dict(word=gym.spaces.Sequence(gym.spaces.Box(0, 1, (2,))))
    env = gym.vector.SyncVectorEnv([lambda: make(space)]) if batch else make(space)
    package = gym.wrappers.vector if batch else gym.wrappers
    with pytest.warns(UserWarning, match="FlattenObservation: elements of Dict.* their sizes vary"):
        package.FlattenObservation(env)


UNSORTED = gym.spaces.Dict({"z": box(0, 1), "a": box(5, 6)}, sort_keys=False)


@pytest.mark.parametrize("batch", [False, True], ids=["single", "batch"])
@pytest.mark.parametrize(
    ("name", "arguments", "keys"),
    [
        ("FilterObservation", (["z", "a"],), ["z", "a"]),
        ("TimeAwareObservation", (False,), ["time", "z", "a"]),
        ("AddRenderObservation", (False,), ["pixels", "z", "a"]),
    ],
)
def test_dicts_whose_keys_are_not_sorted(name, arguments, keys, batch):
    """With FlattenObservation around these wrappers, the order is that of the features."""

    def one():
        env = gym.wrappers.TimeLimit(make(UNSORTED, render_mode="rgb_array"), 9)
        return gym.wrappers.OrderEnforcing(env, disable_render_order_enforcing=True)

    env = gym.vector.SyncVectorEnv([one]) if batch else one()
    env = getattr(gym.wrappers.vector if batch else gym.wrappers, name)(env, *arguments)
    single = env.single_observation_space if batch else env.observation_space
    assert list(single.spaces) == list(env.observation_space.spaces) == keys
    assert list(env.reset(seed=1)[0]) == keys
    flat = gym.wrappers.vector.FlattenObservation(env) if batch else None
    flat = flat or gym.wrappers.FlattenObservation(env)
    low = flat.observation_space.low.ravel()
    assert low[-4:].tolist() == [0, 0, 5, 5]


def test_flattened_parts_keep_the_order_of_keys():
    parts = {"z": gym.spaces.Sequence(gym.spaces.Discrete(2)), "a": gym.spaces.Discrete(2)}
    space = gym.spaces.Dict(parts, sort_keys=False)
    assert list(gym.spaces.flatten_space(space).spaces) == ["z", "a"]


@pytest.mark.parametrize("batch", [False, True], ids=["single", "batch"])
@pytest.mark.parametrize(
    ("dtype", "high", "value", "bounds", "expected"),
    [
        (np.uint8, 255, 128, (0, 1), np.float32(128 * np.float32(1 / 255))),
        (np.uint8, 200, 50, (-1, 1), np.float32(-0.5)),
        (np.int64, 10, 5, (0, 1), np.float64(0.5)),
        (np.int64, 10, 5, (0, 20), np.int64(10)),
    ],
    ids=["bytes", "negative", "float64", "integers"],
)
def test_rescaled_integers_are_no_constants(dtype, high, value, bounds, expected, batch):
    env = make(box(0, high, (2,), dtype))
    if batch:
        env = gym.vector.SyncVectorEnv([lambda: make(box(0, high, (2,), dtype))])
    env = (gym.wrappers.vector if batch else gym.wrappers).RescaleObservation(env, *bounds)
    space = env.single_observation_space if batch else env.observation_space
    assert space == box(*bounds, (2,), expected.dtype)
    observation = np.full((1, 2) if batch else 2, value, dtype)
    rescaled = (env.observations if batch else env.observation)(observation)
    np.testing.assert_array_equal(rescaled, np.full_like(rescaled, expected), strict=True)
    assert rescaled.dtype == expected.dtype


@pytest.mark.parametrize("keep_dim", [False, True])
def test_grayscale(keep_dim):
    check("GrayscaleObservation", keep_dim, space=lambda s: s.Box(0, 255, (5, 7, 3), np.uint8))


def test_every_color_becomes_the_gray_that_gymnasium_makes_of_it():
    """All 2**24 colors with every fifth red: enough to cover every case of rounding."""
    ours = GrayscaleObservation(make(bytes_box(256, 256, 3))).func
    theirs = gymnasium.wrappers.GrayscaleObservation(
        make_walk_env(gymnasium)(
            observation_space=gymnasium.spaces.Box(0, 255, (256, 256, 3), np.uint8)
        )
    ).func
    shades = np.arange(256, dtype=np.uint8)
    picture = np.empty((256, 256, 3), np.uint8)
    picture[..., 1], picture[..., 2] = shades[:, None], shades
    for red in range(0, 256, 5):
        picture[..., 0] = red
        assert_same(ours(picture), theirs(picture))


def test_white_stays_white():
    env = GrayscaleObservation(make(bytes_box(1, 2, 3)))
    assert env.observation(np.array([[[255, 255, 255], [100, 10, 1]]], np.uint8)).tolist() == [
        [255, 28]
    ]


@pytest.mark.parametrize("shape", [(9, 7), (9, 7, 1), (9, 7, 3), (9, 7, 4), (4, 4)])
@pytest.mark.parametrize("size", [(4, 5), (2, 2), (20, 30)])
def test_resize(shape, size):
    pytest.importorskip("cv2")
    check("ResizeObservation", size, space=lambda s: s.Box(0, 255, shape, np.uint8))


def test_resize_many_channels():
    """OpenCV takes at most four channels: more are resized in groups."""
    pytest.importorskip("cv2")
    picture = np.random.default_rng(1).integers(256, size=(8, 6, 9), dtype=np.uint8)
    all_at_once = ResizeObservation(make(bytes_box(8, 6, 9)), (4, 4)).observation(picture)
    one = ResizeObservation(make(bytes_box(8, 6)), (4, 4))
    for i in range(9):
        assert_same(all_at_once[..., i], one.observation(np.ascontiguousarray(picture[..., i])))


@pytest.mark.parametrize(
    ("old", "new"), [((2, 6), (3, 4)), ((4,), (2, 1, 2)), ((1,), ()), ((), (1,))]
)
def test_reshape(old, new):
    check("ReshapeObservation", new, space=lambda s: s.Box(-1, 1, old, np.float32))


def test_reshape_reshapes_the_bounds():
    low = np.arange(4.0).reshape(2, 2)
    env = ReshapeObservation(make(gym.spaces.Box(low, low + 1, dtype=np.float64)), (4,))
    assert env.observation_space.low.tolist() == [0, 1, 2, 3]
    assert env.shape == (4,)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize(
    ("low", "high", "new_low", "new_high"),
    [(-10, 10, 0, 1), (0, 7, -1, 1), (-3, 5, 0.25, 0.75), (0, np.inf, 5, np.inf)],
)
def test_rescale(dtype, low, high, new_low, new_high):
    new = [np.full((3,), bound, dtype) for bound in (new_low, new_high)]
    check("RescaleObservation", *new, space=lambda s: s.Box(low, high, (3,), dtype))


def test_rescale_integers():
    check("RescaleObservation", 0, 27, space=lambda s: s.Box(0, 9, (3,), np.int64))


DTYPES = [
    ("box", [np.int32, int, "int64", np.float32]),  # float64 warns in Gymnasium
    ("scalar", [np.int32, int, "int64", np.float64]),  # float32 warns in both
    ("discrete", [np.int32, int, "int64", np.float32, np.float64]),
    ("multi_discrete", [np.int32, int, "int64"]),
    ("multi_binary", [np.int32, bool, "int64", np.float32, np.float64]),
]


@pytest.mark.parametrize(("kind", "dtype"), [(k, d) for k, dtypes in DTYPES for d in dtypes])
def test_dtype(kind, dtype):
    # A sample of a Box without axes is an array here, a number there.
    check("DtypeObservation", dtype, kind=kind, spaces=kind not in ("scalar", "discrete"))


def test_dtype_of_wider_floats_does_not_warn():
    env = DtypeObservation(make(), np.float64)
    assert env.observation_space == box(-10, 10, dtype=np.float64)
    assert env.reset(seed=1)[0].dtype == np.float64


@pytest.mark.parametrize("kind", ["box", "multi_discrete", "multi_binary"])
@pytest.mark.parametrize("dtype", [">i4", "<i4"])
def test_dtype_keeps_the_byte_order(dtype, kind):
    """Gymnasium keeps it in the space, but returns the machine's byte order."""
    env = DtypeObservation(WalkEnv(kind), dtype)
    for observation in (env.reset(seed=1)[0], env.step(env.action_space.sample())[0]):
        assert observation.dtype == env.observation_space.dtype == np.dtype(dtype)


def test_dtype_of_unbounded_numbers_is_bounded_by_the_dtype():
    env = DtypeObservation(make(box(-np.inf, np.inf)), np.int32)
    assert env.observation_space.low.tolist() == [np.iinfo(np.int32).min] * 2
    assert env.observation_space.high.tolist() == [np.iinfo(np.int32).max] * 2


@pytest.mark.parametrize("multidiscrete", [False, True])
@pytest.mark.parametrize("bins", [1, 3, (3, 4), [10, 1], np.array([2, 5])])
def test_discretize(bins, multidiscrete):
    check("DiscretizeObservation", bins, multidiscrete)


@pytest.mark.parametrize(
    ("low", "high", "shape", "dtype"),
    [
        (-1, 1, (), np.float64),
        (0, 9, (2,), np.int32),
        (0, 255, (2, 2), np.uint8),
        (1, 1, (2,), "f4"),
    ],
)
def test_discretize_other_boxes(low, high, shape, dtype):
    space = lambda s: s.Box(low, high, shape, dtype)  # noqa: E731
    check("DiscretizeObservation", 3, space=space)
    check("DiscretizeObservation", 3, True, space=space)


@pytest.mark.parametrize("multidiscrete", [False, True])
def test_discretize_values_on_and_beyond_the_edges(multidiscrete):
    ours = DiscretizeObservation(make(box(-1, 1)), (3, 4), multidiscrete)
    env = make_walk_env(gymnasium)(observation_space=gymnasium.spaces.Box(-1, 1, (2,)))
    theirs = gymnasium.wrappers.DiscretizeObservation(env, (3, 4), multidiscrete)
    edges = np.float32(
        [-9, -1, -1 / 3, 1 / 3, -0.5, 0, 0.5, 0.99999994, 1, 9, np.nan, np.inf, -np.inf]
    )
    for first in edges:
        for second in np.concatenate([edges, np.nextafter(edges, np.float32(0))]):
            value = np.array([first, second])
            assert_same(ours.observation(value), theirs.observation(value), str(value))


@pytest.mark.parametrize("multidiscrete", [False, True])
def test_discretize_reverts(multidiscrete):
    ours = DiscretizeObservation(make(box(-1, 1)), (3, 4), multidiscrete)
    env = make_walk_env(gymnasium)(observation_space=gymnasium.spaces.Box(-1, 1, (2,)))
    theirs = gymnasium.wrappers.DiscretizeObservation(env, (3, 4), multidiscrete)
    for i in range(12):
        index = np.array([i // 4, i % 4]) if multidiscrete else i
        assert_same(ours.revert_observation(index), theirs.revert_observation(index))
        lower, upper = ours.revert_observation(index)
        assert_same(ours.observation((lower + upper) / 2), index)
    for name in ("bins", "low", "high", "n_dims", "multidiscrete", "bin_edges"):
        assert_same(getattr(ours, name), getattr(theirs, name), name)


@pytest.mark.parametrize("multidiscrete", [False, True])
def test_discretize_refuses_indices_of_no_bin(multidiscrete):
    env = DiscretizeObservation(make(box(-1, 1)), (3, 4), multidiscrete)
    wrong = [[3, 0], [-1, 0], [0], 1] if multidiscrete else [12, -1, [1]]
    for index in wrong:
        with pytest.raises(IndexError, match=r"revert_observation: expected indices") as caught:
            env.revert_observation(index)
        assert isinstance(caught.value, error.InvalidArgument)
    with pytest.raises(error.FailedTypeCheck, match=r"expected integers, got 1\.0"):
        env.revert_observation(1.0)


@pytest.mark.parametrize("render_only", [False, True])
@pytest.mark.parametrize("kind", OBSERVATION_KINDS)
def test_add_render(kind, render_only):
    def wrap(package, env):
        return package.wrappers.AddRenderObservation(env, render_only, obs_key="o")

    check_side_by_side(wrap, kind=kind, render_mode="rgb_array", steps=18)


def test_add_render_knows_the_dtype_of_frames():
    """Gymnasium declares bytes for any frames."""

    class Depth(WalkEnv):
        def render(self):
            return np.ones((2, 3), np.float32)

    env = AddRenderObservation(Depth(render_mode="depth_array"))
    assert env.observation_space == box(-np.inf, np.inf, (2, 3))
    assert env.reset(seed=1)[0] in env.observation_space


# --- observations stay unchanged ------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrap",
    [
        FlattenObservation,
        lambda env: RescaleObservation(env, 0, 1),
        lambda env: DtypeObservation(env, np.float64),
        lambda env: DiscretizeObservation(env, 3),
        lambda env: ReshapeObservation(env, (2, 1)),
    ],
)
def test_the_environments_observation_stays_as_it_is(wrap):
    env = wrap(make())
    observation = np.float32([1, -2])
    env.observation(observation)
    assert observation.tolist() == [1, -2]


# --- wrong arguments ------------------------------------------------------------------------------

DICT = gym.spaces.Dict(a=gym.spaces.Discrete(3), b=box(0, 1))
TUPLE = gym.spaces.Tuple((gym.spaces.Discrete(3), box(0, 1)))
DISCRETE = gym.spaces.Discrete(3)

BAD = [
    (TransformObservation, None, (3, None), TypeError, "func to be callable"),
    (TransformObservation, None, (abs, 3), TypeError, "observation_space to be a Space or None"),
    (FilterObservation, DICT, ({"a"},), TypeError, "to be a Sequence, actual type: <class 'set'>"),
    (FilterObservation, DICT, (["a", 0],), TypeError, "keys must be strings for a Dict space"),
    (FilterObservation, DICT, (["a", "z"],), ValueError, r"Missing keys: \['z'\]"),
    (FilterObservation, DICT, ([],), ValueError, "empty due to filtering all of the keys"),
    (FilterObservation, TUPLE, (["a"],), TypeError, "must be integers for a Tuple space"),
    (FilterObservation, TUPLE, ([5, 0],), ValueError, r"missing indexes: \[5\]"),
    (FilterObservation, TUPLE, ([-3],), IndexError, r"missing indexes: \[-3\]"),
    (FilterObservation, TUPLE, ([0, 0],), ValueError, "Duplicate keys exist"),
    (FilterObservation, TUPLE, ([-1, 1],), ValueError, "Duplicate keys exist"),
    (FilterObservation, TUPLE, ([],), ValueError, "empty due to filtering all keys"),
    (FilterObservation, None, (["a"],), ValueError, "only usable with `Dict` and `Tuple`"),
    (GrayscaleObservation, DISCRETE, (), TypeError, "requires a Box observation space"),
    (
        GrayscaleObservation,
        box(0, 255, (2, 2, 3)),
        (),
        ValueError,
        "bounds 0 to 255 and dtype uint8",
    ),
    (GrayscaleObservation, box(0, 254, (2, 2, 3), np.uint8), (), ValueError, "bounds 0 to 255"),
    (
        GrayscaleObservation,
        bytes_box(2, 2, 4),
        (),
        ValueError,
        r"3 channels, got shape \(2, 2, 4\)",
    ),
    (GrayscaleObservation, bytes_box(2, 2), (), ValueError, "3 channels"),
    (ResizeObservation, DISCRETE, ((2, 2),), TypeError, "requires a Box observation space"),
    (ResizeObservation, bytes_box(4), ((2, 2),), ValueError, "2D or 3D image"),
    (ResizeObservation, box(0, 1, (4, 4)), ((2, 2),), ValueError, "bounds 0 to 255"),
    (ResizeObservation, box(0, 255, (4, 4)), ((2, 2),), ValueError, "dtype uint8, got float32"),
    (ResizeObservation, bytes_box(4, 4), ([2, 2],), TypeError, "shape to be a tuple"),
    (ResizeObservation, bytes_box(4, 4), ((2,),), ValueError, "tuple of length 2"),
    (ResizeObservation, bytes_box(4, 4), ((2.0, 2),), TypeError, "elements to be integers"),
    (ResizeObservation, bytes_box(4, 4), ((True, 2),), TypeError, "elements to be integers"),
    (ResizeObservation, bytes_box(4, 4), ((0, 2),), ValueError, "greater than 0"),
    (ReshapeObservation, DISCRETE, ((2,),), TypeError, "requires a Box observation space"),
    (ReshapeObservation, None, ([2, 1],), TypeError, "shape to be a tuple"),
    (ReshapeObservation, None, (2,), TypeError, "shape to be a tuple"),
    (ReshapeObservation, None, (3,), ValueError, "product of the new shape"),
    (ReshapeObservation, None, ((3,),), ValueError, r"got \(3,\) for \(2,\)"),
    (ReshapeObservation, None, ((2.0,),), TypeError, "elements to be integers"),
    (ReshapeObservation, None, ((-1, -2),), ValueError, "greater than 0"),
    (RescaleObservation, DISCRETE, (0, 1), TypeError, "requires a Box observation space"),
    (RescaleObservation, None, ([0, 0], 1), TypeError, "new_min to be an integer"),
    (RescaleObservation, None, (1, 0), ValueError, "less than or equal"),
    (RescaleObservation, None, (0, np.inf), ValueError, "unbounded components"),
    (RescaleObservation, None, (np.zeros(3), np.ones(3)), ValueError, "new_min.shape"),
    (DtypeObservation, DICT, (int,), TypeError, "requires a Box, Discrete, MultiDiscrete"),
    (DtypeObservation, None, ("foo",), TypeError, "requires a dtype, got 'foo'"),
    (DtypeObservation, None, (None,), ValueError, "requires a dtype, got None"),
    (DtypeObservation, None, (complex,), ValueError, "complex128"),
    (DtypeObservation, None, (np.uint8,), ValueError, "low"),
    (DtypeObservation, gym.spaces.MultiDiscrete([2, 3]), (float,), ValueError, "integer dtype"),
    (DiscretizeObservation, DISCRETE, (3,), TypeError, "only compatible with Box"),
    (DiscretizeObservation, box(0, np.inf), (3,), ValueError, "to be finite"),
    (DiscretizeObservation, None, (3.0,), TypeError, "integer or a sequence of integers"),
    (DiscretizeObservation, None, ("ab",), TypeError, "integer or a sequence of integers"),
    (DiscretizeObservation, None, (True,), TypeError, "integer or a sequence of integers"),
    (DiscretizeObservation, None, ((3.0, 3),), TypeError, "bins must be integers"),
    (DiscretizeObservation, None, ((3, 3, 3),), ValueError, "expected 2, got 3"),
    (DiscretizeObservation, None, (0,), ValueError, "bins must be positive"),
    (DiscretizeObservation, None, ((2, -1),), ValueError, "bins must be positive"),
    (DiscretizeObservation, box(0, 1, (40,)), (100,), ValueError, "use multidiscrete=True"),
    (AddRenderObservation, None, (), ValueError, "not None and not 'human', got None"),
]


def check_refused(wrapper, space, args, kind, message):
    with pytest.raises(kind, match=message) as caught:
        wrapper(make(space), *args)
    assert isinstance(caught.value, error.Error)


@pytest.mark.parametrize("row", [row for row in BAD if row[0] is not ResizeObservation])
def test_bad_arguments(row):
    check_refused(*row)


@pytest.mark.parametrize("row", [row for row in BAD if row[0] is ResizeObservation])
def test_bad_sizes(row):
    pytest.importorskip("cv2")
    check_refused(*row)


@pytest.mark.parametrize(
    "wrap",
    [
        lambda env: TransformObservation(env, abs, None),
        lambda env: FilterObservation(env, ["a"]),
        FlattenObservation,
        GrayscaleObservation,
        lambda env: ResizeObservation(env, (2, 2)),
        lambda env: ReshapeObservation(env, (2, 2)),
        lambda env: RescaleObservation(env, 0, 1),
        lambda env: DtypeObservation(env, int),
        lambda env: DiscretizeObservation(env, 3),
        AddRenderObservation,
    ],
)
def test_no_environment(wrap):
    with pytest.raises(error.ArgumentTypeError, match=r"Expected env to be a `gymcore.Env`"):
        wrap(3)


def test_add_render_bad_arguments():
    def dict_env():
        return make(render_mode="rgb_array", kind="dict")

    with pytest.raises(ValueError, match="render_key 'goal' already exists"):
        AddRenderObservation(dict_env(), False, "goal")
    AddRenderObservation(dict_env(), False, "state", "state")  # no entry is made under obs_key
    with pytest.raises(ValueError, match="render_key and obs_key to differ, got 'x' twice"):
        AddRenderObservation(make(render_mode="rgb_array"), False, "x", "x")
    with pytest.raises(ValueError, match="got human"):
        AddRenderObservation(make(render_mode="human"))

    class Words(WalkEnv):
        def render(self):
            return "words"

    with pytest.raises(TypeError, match="to return a numpy array, got <class 'str'>"):
        AddRenderObservation(Words(render_mode="ansi"))


def test_resize_without_opencv(monkeypatch):
    monkeypatch.setitem(sys.modules, "cv2", None)
    with pytest.raises(error.DependencyNotInstalled, match="`pip install opencv-python-headless`"):
        ResizeObservation(make(bytes_box(4, 4)), (2, 2))


# --- specs ----------------------------------------------------------------------------------------


def wrapped_pictures(env):
    env = AddRenderObservation(env, render_only=False, obs_key="position")
    env = FilterObservation(env, ["pixels"])
    return TransformObservation(env, _pixels, bytes_box(400, 600, 3))


def _pixels(observation):
    return observation["pixels"]


STACKS = {
    "numbers": lambda env: functools.reduce(
        lambda inner, wrap: wrap(inner),
        [
            lambda inner: RescaleObservation(inner, 0, 1),
            lambda inner: DtypeObservation(inner, "float64"),
            lambda inner: ReshapeObservation(inner, (2, 1)),
            FlattenObservation,
            lambda inner: DiscretizeObservation(inner, (3, 4), multidiscrete=True),
        ],
        env,
    ),
    "pictures": lambda env: GrayscaleObservation(AddRenderObservation(env), keep_dim=True),
}


@pytest.mark.parametrize("name", STACKS)
def test_specs_make_the_same_again(name):
    env = STACKS[name](gym.make("MountainCar-v0", render_mode="rgb_array"))
    for wrapper in env.spec.additional_wrappers:
        assert wrapper.entry_point == f"gymcore.wrappers.transform_observation:{wrapper.name}"
    text = env.spec.to_json()
    for spec in (env.spec, gym.envs.registration.EnvSpec.from_json(text)):
        again = gym.make(spec)
        assert str(again) == str(env)
        assert again.observation_space == env.observation_space
        assert_same(again.reset(seed=3), env.reset(seed=3))
        assert_same(again.step(1), env.step(1))


@pytest.mark.parametrize("kind", ["dict", "tuple"])
def test_nested_observations_go_through_a_stack(kind):
    def wrap(package, env):
        w = package.wrappers
        env = w.AddRenderObservation(env, render_only=False)
        if kind == "tuple":
            env = w.FilterObservation(env, ["state", "pixels"])
        else:
            env = w.FilterObservation(env, ["goal", "pixels", "camera"])
        env = w.FlattenObservation(env)
        env = w.DtypeObservation(env, np.int32)
        return w.ReshapeObservation(env, (*env.observation_space.shape, 1))

    check_side_by_side(wrap, kind=kind, render_mode="rgb_array", steps=12)
