"""Keys of servers and clients: CURVE key pairs in a folder.

A folder of `make_keys` has `server.key` and `client.key`, the public keys, and the private ones in
files that end in `_secret` and that only their owner may read. A server needs `server.key_secret`
and the public keys of its clients, `*.key` beside it; a client needs `client.key_secret` and
`server.key`.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path
from typing import Any

from gymcore.base.new_file import NewFile
from gymcore.base.optional_packages import pip_install
from gymcore.error import DependencyNotInstalled, InvalidArgument

__all__ = ["client_keys", "fingerprint", "load_zmq", "make_keys", "server_keys"]


def load_zmq() -> Any:
    """Return the module `zmq`.

    Raises:
        DependencyNotInstalled: if pyzmq, or msgpack, is not installed, or lacks CURVE.
    """
    try:
        import msgpack  # noqa: F401
        import zmq
        import zmq.auth
    except ImportError as missing:
        raise DependencyNotInstalled(
            f"pyzmq and msgpack are not installed, run `{pip_install('zmq', 'msgpack')}`"
        ) from missing
    if not zmq.has("curve"):
        raise DependencyNotInstalled(
            "the installed libzmq has no CURVE; run `pip install --force-reinstall pyzmq`"
        )
    return zmq


def make_keys(directory: str | Path) -> list[Path]:
    """Write new keys of a server and a client.

    Args:
        directory: The folder; created if missing.

    Returns:
        The four files.

    Raises:
        InvalidArgument: if one of them exists.
        OSError: if they cannot be written. After any error no file or folder is left of this call.
    """
    zmq = load_zmq()
    folder = Path(directory)
    names = ("server", "client")
    files = [folder / f"{name}.{suffix}" for name in names for suffix in ("key", "key_secret")]
    if there := [str(path) for path in files if os.path.lexists(path)]:
        raise InvalidArgument(f"directory: expected one without keys, got {', '.join(there)}")
    with contextlib.ExitStack() as undo:
        for missing in reversed([path for path in (folder, *folder.parents) if not path.exists()]):
            missing.mkdir(mode=0o700)
            undo.callback(missing.rmdir)
        with tempfile.TemporaryDirectory(dir=folder) as new:  # which its owner alone may read
            for name in names:
                zmq.auth.create_certificates(new, name)
            for path in files:
                with NewFile(path, overwrite=False) as file:
                    if path.suffix == ".key_secret":
                        file.part.chmod(0o600)
                    file.part.write_bytes(Path(new, path.name).read_bytes())
                undo.callback(path.unlink)
        undo.pop_all()
    return files


def server_keys(directory: str | Path) -> tuple[bytes, bytes]:
    """Return a server's public and private key; check the public keys of its clients.

    Raises:
        InvalidArgument: if a file is missing, is not a key, or can be read by others.
    """
    folder = Path(directory)
    public, secret = _pair(folder / "server.key_secret")
    clients = {_public(path) for path in folder.glob("*.key") if path.name != "server.key"}
    if not clients:
        raise InvalidArgument(f"keys: expected public keys of clients, {folder}/*.key, got none")
    return public, secret


def client_keys(directory: str | Path) -> tuple[bytes, bytes, bytes]:
    """Return a client's public and private key, and the public key of its server."""
    folder = Path(directory)
    return *_pair(folder / "client.key_secret"), _public(folder / "server.key")


def fingerprint(public: bytes) -> str:
    """Return a short form of a public key, for people to compare."""
    return f"SHA256:{hashlib.sha256(public).hexdigest()[:32]}"


def _pair(path: Path) -> tuple[bytes, bytes]:
    public, secret = _loaded(path)
    if secret is None:
        raise InvalidArgument(f"keys: expected a private key in {path}")
    if path.stat().st_mode & 0o077:
        raise InvalidArgument(
            f"keys: expected {path} to be readable by its owner alone; run `chmod 600 {path}`"
        )
    return public, secret


def _public(path: Path) -> bytes:
    return _loaded(path)[0]


def _loaded(path: Path) -> tuple[bytes, bytes | None]:
    try:
        public, secret = load_zmq().auth.load_certificate(path)
    except (OSError, ValueError) as problem:
        raise InvalidArgument(f"keys: expected a key in {path} ({problem})") from None
    if len(public) != 40 or (secret is not None and len(secret) != 40):
        raise InvalidArgument(f"keys: expected a key of 40 characters in {path}")
    return public, secret
