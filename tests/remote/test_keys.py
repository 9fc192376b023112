"""Keys of servers and clients: who is served, and which files are refused."""

from __future__ import annotations

import pytest

from gymcore import error
from gymcore.remote import Client, Server, make_keys
from tests.remote.servers import Recorder, running


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    folders = [tmp_path_factory.mktemp("keys") / name for name in ("ours", "theirs")]
    for folder in folders:
        make_keys(folder)
    return folders


def test_both_know_each_other(folders):
    with running(Recorder(), keys=folders[0], log=print) as server:
        assert server.fingerprint.startswith("SHA256:")
        with Client(server.address, "test", keys=folders[0]) as client:
            assert client.request("echo", 1) == [1]


def test_a_wrong_key_and_none(folders):
    lines = []
    recorder = Recorder()
    with running(recorder, keys=folders[0], log=lines.append) as server:
        with pytest.raises(error.RemoteError):
            Client(server.address, "test", keys=folders[1], connect_timeout=1)
        message = r"refused the connection: .* \(it serves only clients with keys; pass `keys`\)"
        with pytest.raises(error.RemoteRefused, match=message):
            Client(server.address, "test", connect_timeout=None)
        # The server's key is right, but the client's key is unknown.
        mixed = folders[1].parent / "mixed"
        mixed.mkdir()
        for name, folder in (("server.crt", 0), ("client.crt", 1), ("client.key", 1)):
            (mixed / name).write_bytes((folders[folder] / name).read_bytes())
            (mixed / name).chmod(0o600)
        with pytest.raises(error.RemoteRefused, match="refused the connection"):
            Client(server.address, "test", keys=mixed, connect_timeout=60)
        with Client(server.address, "test", keys=folders[0]) as client:
            assert client.request("echo", 1) == [1]
    assert len(recorder.calls) == 1 and any("refused" in line for line in lines)


def test_files(folders, tmp_path):
    for path in folders[0].iterdir():
        assert path.stat().st_mode & 0o077 == 0 or path.suffix == ".crt"
    with pytest.raises(error.InvalidArgument, match="expected a folder without keys, got"):
        make_keys(folders[0])
    with pytest.raises(
        error.InvalidArgument, match="keys: expected a private key and its certificate in"
    ):
        Server(Recorder(), keys=tmp_path)
    made = make_keys(tmp_path / "new")
    assert [path.name for path in made] == [
        "server.crt",
        "server.key",
        "client.crt",
        "client.key",
    ]
    made[1].chmod(0o644)
    with pytest.raises(error.InvalidArgument, match="its owner alone"):
        Server(Recorder(), keys=tmp_path / "new")
    made[1].chmod(0o600)
    made[2].unlink()
    with pytest.raises(error.InvalidArgument, match="expected client certificates"):
        Server(Recorder(), keys=tmp_path / "new")
    made[3].write_text("no key")
    with pytest.raises(
        error.InvalidArgument, match="keys: expected a private key and its certificate in"
    ):
        Client("127.0.0.1:1", "test", keys=tmp_path / "new")
