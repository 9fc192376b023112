"""Keys of servers and clients: private keys and their certificates, for TLS.

A folder of `make_keys` has `server.crt` and `client.crt`, the certificates, which are public, and
the private keys `server.key` and `client.key`, which only their owner may read. A server needs
`server.key`, `server.crt` and the certificates of its clients, `*.crt` beside it; a client needs
`client.key`, `client.crt` and `server.crt`. Each side accepts these certificates and no other:
nobody signs them.
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
from gymcore.error import DependencyNotInstalled, InvalidArgument

__all__ = ["client_context", "fingerprint", "make_keys", "server_context"]


def make_keys(directory: str | Path) -> list[Path]:
    """Write new keys of a server and a client.

    Args:
        directory: The folder; created if missing.

    Returns:
        The four files.

    Raises:
        InvalidArgument: If one of them exists.
        OSError: If they cannot be written. After any error no file or folder is left of this call.
        DependencyNotInstalled: If cryptography is missing.
    """
    folder = Path(directory)
    texts: dict[Path, bytes] = {}
    for name in ("server", "client"):
        texts[folder / f"{name}.crt"], texts[folder / f"{name}.key"] = _new_pair(name)
    if there := [str(path) for path in texts if os.path.lexists(path)]:
        raise InvalidArgument(f"directory: expected one without keys, got {', '.join(there)}")
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
    """Return a certificate and its private key, in PEM."""
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
        # It holds as long as its file is there, whatever the clocks of two machines say.
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
    """Return what a server's connections are encrypted with.

    Raises:
        InvalidArgument: If a key is missing, is none, or can be read by others than its owner.
    """
    folder = Path(directory)
    context = _context(ssl.PROTOCOL_TLS_SERVER, folder, "server")
    clients = sorted(path for path in folder.glob("*.crt") if path.name != "server.crt")
    if not clients:
        raise InvalidArgument(f"keys: expected certificates of clients, *.crt, in {folder}")
    for path in clients:
        _accept(context, path)
    context.num_tickets = 0  # a session of TLS is not taken up again
    return context


def client_context(directory: str | Path) -> ssl.SSLContext:
    """Return what a client's connections are encrypted with; it raises as `server_context`."""
    folder = Path(directory)
    context = _context(ssl.PROTOCOL_TLS_CLIENT, folder, "client")
    _accept(context, folder / "server.crt")
    return context


def fingerprint(directory: str | Path) -> str:
    """Return a short form of a server's certificate, for people to compare."""
    path = Path(directory) / "server.crt"
    try:
        certificate = ssl.PEM_cert_to_DER_cert(path.read_text())
    except (OSError, ValueError) as problem:
        raise InvalidArgument(f"keys: expected a certificate in {path} ({problem})") from None
    return f"SHA256:{hashlib.sha256(certificate).hexdigest()[:32]}"


def _context(protocol: int, folder: Path, name: str) -> ssl.SSLContext:
    context = ssl.SSLContext(protocol)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False  # one certificate is accepted, wherever it comes from
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
    """Accept a certificate, and no other that its owner might sign."""
    try:
        context.load_verify_locations(path)
    except (OSError, ValueError) as problem:
        raise InvalidArgument(f"keys: expected a certificate in {path} ({problem})") from None
