"""`area_resizer`: the bytes of `cv2.resize` with INTER_AREA, without OpenCV."""

import numpy as np
import pytest

from gymcore.rendering.area_resizer import area_resizer

cv2 = pytest.importorskip("cv2")

SCREENS = ((210, 160), (250, 160))
TARGETS = (
    *((84, 84), (96, 96), (64, 64), (84, 160), (42, 84), (209, 159), (7, 3), (1, 1), (210, 160)),
    # A block of whole pixels becomes one pixel, in both directions or one of them.
    *((105, 80), (42, 32), (70, 160), (210, 80), (105, 160), (42, 84), (100, 80)),
)


@pytest.mark.parametrize("size", SCREENS)
@pytest.mark.parametrize("target", TARGETS)
def test_equals_opencv(size, target):
    rng = np.random.default_rng(0)
    resizer = area_resizer(size, target)
    blocks = rng.integers(0, 4, (size[0] // 5, size[1] // 4), dtype=np.uint8) * 60
    frames = [
        rng.integers(0, 256, size, dtype=np.uint8),
        blocks.repeat(5, 0).repeat(4, 1),
        np.full(size, 255, np.uint8),
        rng.integers(0, 256, (*size, 3), dtype=np.uint8),
    ]
    for frame in frames:
        out = np.empty(target + frame.shape[2:], np.uint8)
        assert resizer(frame, out) is out
        expected = cv2.resize(frame, target[::-1], interpolation=cv2.INTER_AREA)
        np.testing.assert_array_equal(out, expected)


def test_what_it_refuses():
    for target in ((211, 84), (84, 161), (0, 84), (84, -1)):
        with pytest.raises(ValueError, match="expected a size of at most"):
            area_resizer((210, 160), target)
    with pytest.raises(ValueError, match="256 columns"):
        area_resizer((210, 300), (84, 260))
    resizer = area_resizer((210, 160), (84, 84))
    frame, out = np.zeros((210, 160), np.uint8), np.zeros((84, 84), np.uint8)
    read_only = out.copy()
    read_only.flags.writeable = False
    wrong = (
        (frame.astype(np.int32), out),
        (frame[:, ::2], out),
        (frame, out[:-1]),
        (frame, read_only),
        (np.zeros((210, 160, 4), np.uint8), out),
        (frame[:-1], out),
    )
    for one, other in wrong:
        with pytest.raises(ValueError, match="expected"):
            resizer(one, other)
