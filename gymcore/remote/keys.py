"""Private keys and certificates of servers and clients, for TLS.

`make_keys` writes the public certificates `server.crt` and `client.crt`, and the private keys
`server.key` and `client.key`, which only their owner may read. A server needs `server.key`,
`server.crt` and, in the same folder, the certificates of its clients, `*.crt`. A client needs
`client.key`, `client.crt` and `server.crt`. Each side accepts exactly these certificates; there is
no certificate authority.
"""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import os
import ssl
from pathlib import Path

from gymcore.base.new_file import NewFile
from gymcore.base.optional_packages import pip_install
from gymcore.error import ArgumentTypeError, DependencyNotInstalled, InvalidArgument


def make_keys(directory: str | Path) -> list[Path]:
    """Write new keys for a server and a client.

    Args:
        directory: The folder; created if missing.

    Returns:
        The paths of the four files.

    Raises:
        InvalidArgument: If one of the files exists.
        OSError: If the files cannot be written. After any error, nothing is left behind.
        DependencyNotInstalled: If cryptography is not installed.

    Examples:
        >>> [path.name for path in make_keys("keys")]
        ['server.crt', 'server.key', 'client.crt', 'client.key']
    """
    folder = Path(directory)
    texts: dict[Path, bytes] = {}
    for name in ("server", "client"):
        texts[folder / f"{name}.crt"], texts[folder / f"{name}.key"] = _new_pair(name)
    if existing := [str(path) for path in texts if os.path.lexists(path)]:
        got = ", ".join(existing)
        raise InvalidArgument(f"directory: expected a folder without keys, got {got}")
    with contextlib.ExitStack() as undo:
        for missing in reversed([path for path in (folder, *folder.parents) if not path.exists()]):
            missing.mkdir(mode=0o700)
            undo.callback(missing.rmdir)
        for path, text in texts.items():
            with NewFile(path, overwrite=False) as file:
                if path.suffix == ".key":
                    file.part.chmod(0o600)
                file.part.write_bytes(text)
            undo.callback(path.unlink)
        undo.pop_all()
    return list(texts)


def _new_pair(name: str) -> tuple[bytes, bytes]:
    """Return a certificate and its private key in PEM format."""
    try:
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec
    except ImportError as missing:
        raise DependencyNotInstalled(
            f"cryptography is not installed, run `{pip_install('cryptography')}`"
        ) from missing
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, f"gymcore {name}")])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        # Valid as long as its file exists, regardless of the clocks of the two machines.
        .not_valid_before(datetime.datetime(2000, 1, 1))
        .not_valid_after(datetime.datetime(9999, 12, 31))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return certificate.public_bytes(serialization.Encoding.PEM), private


def server_context(directory: str | Path) -> ssl.SSLContext:
    """Return the TLS context for a server's connections.

    Raises:
        ArgumentTypeError: If `directory` is not a path.
        InvalidArgument: If a key is missing, invalid, or readable by anyone but its owner.
    """
    folder = _folder(directory)
    context = _context(ssl.PROTOCOL_TLS_SERVER, folder, "server")
    clients = sorted(path for path in folder.glob("*.crt") if path.name != "server.crt")
    if not clients:
        raise InvalidArgument(f"keys: expected client certificates, *.crt, in {folder}")
    for path in clients:
        _accept(context, path)
    context.num_tickets = 0  # no TLS session resumption
    return context


def client_context(directory: str | Path) -> ssl.SSLContext:
    """Return the TLS context for a client's connections; raises as `server_context` does."""
    folder = _folder(directory)
    context = _context(ssl.PROTOCOL_TLS_CLIENT, folder, "client")
    _accept(context, folder / "server.crt")
    return context


def fingerprint(directory: str | Path) -> str:
    """Return a short digest of a server's certificate, which people can compare."""
    path = _folder(directory) / "server.crt"
    try:
        certificate = ssl.PEM_cert_to_DER_cert(path.read_text())
    except (OSError, ValueError) as problem:
        raise InvalidArgument(f"keys: expected a certificate in {path} ({problem})") from None
    return f"SHA256:{hashlib.sha256(certificate).hexdigest()[:32]}"


def _folder(keys: object) -> Path:
    if not isinstance(keys, (str, os.PathLike)):
        raise ArgumentTypeError(f"keys: expected the path of a folder, got {keys!r}")
    return Path(keys)


def _context(protocol: int, folder: Path, name: str) -> ssl.SSLContext:
    context = ssl.SSLContext(protocol)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False  # the certificates are pinned, so the host does not matter
    context.verify_mode = ssl.CERT_REQUIRED
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    key = folder / f"{name}.key"
    try:
        context.load_cert_chain(folder / f"{name}.crt", key, password="")
    except (OSError, ValueError) as problem:
        raise InvalidArgument(
            f"keys: expected a private key and its certificate in {key} and {name}.crt ({problem})"
        ) from None
    if os.name == "posix" and key.stat().st_mode & 0o077:
        raise InvalidArgument(
            f"keys: expected {key} to be readable by its owner alone; run `chmod 600 {key}`"
        )
    return context


def _accept(context: ssl.SSLContext, path: Path) -> None:
    """Accept a certificate, but not certificates that its owner might sign."""
    try:
        context.load_verify_locations(path)
    except (OSError, ValueError) as problem:
        raise InvalidArgument(f"keys: expected a certificate in {path} ({problem})") from None
