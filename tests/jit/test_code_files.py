"""Files of compiled code: damaged ones are recompiled; files writable by others are not used."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest

from gymcore.jit.code_files import read_code, write_code

CODE = {
    "step": (("library", "object", (b"object code", b"bitcode")), "symbol"),
    "reset": (("other", "object", (b"", b"1")), "second"),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a path in a private folder."""
    write_code(tmp_path / "made" / "code.bin", CODE)
    return tmp_path / "made" / "code.bin"


def test_what_goes_in_comes_out(path: Path) -> None:
    assert read_code(path) == CODE
    assert read_code(path.with_name("none.bin")) is None


def test_every_changed_byte_is_found(path: Path) -> None:
    data = path.read_bytes()
    for k in range(len(data)):
        path.write_bytes(data[:k] + bytes([data[k] ^ 1]) + data[k + 1 :])
        assert read_code(path) is None
        path.write_bytes(data[:k])
        assert read_code(path) is None
    path.write_bytes(pickle.dumps(CODE))
    assert read_code(path) is None


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs owners and modes of files")
def test_nothing_is_loaded_that_others_can_write(path: Path) -> None:
    for mode, one in ((0o777, path.parent), (0o720, path.parent), (0o602, path)):
        before = one.stat().st_mode
        one.chmod(mode)
        with pytest.warns(UserWarning, match="expected a folder and files that belong to you"):
            assert read_code(path) is None
        one.chmod(before)
    assert read_code(path) == CODE
    path.parent.chmod(0o777)
    write_code(path.with_name("other.bin"), CODE)
    assert os.listdir(path.parent) == ["code.bin"]


@pytest.mark.slow
def test_damaged_code_is_compiled_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba")
    from gymcore.jit import env
    from tests.jit.classes import CartPole

    monkeypatch.setenv("GYMCORE_CACHE_DIR", str(path.parent))
    path.unlink()
    for _ in range(2):
        env._kernel_of(CartPole).__dict__.pop("compiled", None)
        CartPole().reset(seed=1)
        (file,) = path.parent.iterdir()
        data = file.read_bytes()
        file.write_bytes(data[:200] + bytes(len(data) - 200))
