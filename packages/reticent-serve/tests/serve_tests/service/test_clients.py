"""Both clients: cut connections, servers that are killed and come again, servers that ask to wait, TLS."""

import asyncio
import contextlib
import hashlib
import json
import re
import socket
import ssl
import threading
import time

import numpy as np
import pytest

from reticent.errors import Unavailable
from reticent_serve.service import AsyncClient, Client, Refused
from reticent_serve.service import config as configs
from reticent_serve.service.calls import Caller, HTTPReply
from reticent_serve.service.server import check_tls
from serve_tests.service import certificates
from serve_tests.service.servers import KEYS, LINEAR, TOML, Running

EYE = np.eye(3)


class Waiting:
    """The asynchronous client, called as the other one is."""

    def __init__(self, *given, **options):
        self._loop = asyncio.new_event_loop()
        self._client = AsyncClient(*given, **options)

    def __getattr__(self, name):
        return lambda *given, **options: self._loop.run_until_complete(getattr(self._client, name)(*given, **options))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
        self._loop.close()

    def rest(self):
        """As in an application, whose loop runs between requests."""
        self._loop.run_until_complete(asyncio.sleep(0.01))


class Plain(Client):
    def rest(self):
        pass


both = pytest.mark.parametrize("kind", [Plain, Waiting])


def message(sock):
    """A whole request or reply; nothing if the other side went away."""
    found = b""
    while part := sock.recv(1 << 20):
        found += part
        head, end, body = found.partition(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
        if end and len(body) >= int(length[1] if length else 0):
            return found
    return b""


class Wire:
    """Between client and server: it passes requests on, and loses replies as long as `lose` is above 0."""

    def __init__(self, port):
        self.port_behind, self.lose, self.seen = port, 0, 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self):
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self._pass, args=(self._listener.accept()[0],), daemon=True).start()

    def _pass(self, near):
        with near, contextlib.suppress(OSError):
            while request := message(near):
                self.seen += 1
                with socket.create_connection(("127.0.0.1", self.port_behind)) as far:
                    far.sendall(request)
                    reply = message(far)
                if self.lose > 0:
                    self.lose -= 1
                    near.sendall(reply[: len(reply) // 2])
                    return
                near.sendall(reply)

    def close(self):
        self._listener.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("clients")


@pytest.fixture(scope="module")
def server(folder):
    running = Running(folder, TOML)
    yield running
    assert running.stop() == 0


@pytest.fixture
def wire(server):
    made = Wire(server.port)
    yield made
    made.close()


@both
def test_a_reply_that_was_lost_is_asked_for_again(kind, server, wire):
    with Client(server.address, "messages") as other, kind(wire.address, "messages") as client:
        before = other.status()["choices"]
        wire.lose = 2
        choice = client.choose({"a": EYE[0], "b": EYE[1]}, available=["b"], propensity=True)
        assert (choice.index, choice.name) == (1, "b") and choice.propensity in (None, 1.0)
        assert wire.seen == 3 and other.status()["choices"] == before + 1
        wire.lose = 1
        assert client.reward(choice, 1.0) is client.reward(choice.id, None) is True
        assert client.choose(EYE, request=f"mine {kind}").id == client.choose(EYE, request=f"mine {kind}").id
        assert client.estimate()["version"] == 0 and client.certificate()["private"]
        with pytest.raises(Refused) as refused:
            client.reward("0" * 48, 1.0)
        assert refused.value.status == 404 and "Expected the id" in str(refused.value)
        with pytest.raises(ValueError, match="finite"):
            client.reward(choice, float("nan"))
        wire.lose = 100
        seen = wire.seen
        with pytest.raises(Unavailable) as gone, kind(wire.address, "messages", patience=0.0) as impatient:
            impatient.status()
        assert wire.seen == seen + 1 and f"a reply of {wire.address} within 0 s, got none: " in str(gone.value)


@both
def test_a_default_is_what_a_stopped_server_would_have_chosen_from(kind, tmp_path):
    stopped = Running(tmp_path, TOML)
    with kind(stopped.address, "messages", patience=0.0, timeout=60) as client:
        assert client.choose({"a": EYE[0], "b": EYE[1]}, default="b").id and stopped.stop() == 0
        for given, default, expected in (
            ({"arms": {"a": EYE[0], "b": EYE[1]}}, "b", (1, "b")),
            ({"arms": {"a": EYE[0], "b": EYE[1]}}, 0, (0, "a")),
            ({"arms": EYE}, 2, (2, None)),
            ({"context": {}, "actions": ["a", "b"]}, "b", (1, "b")),
            ({"context": {}, "actions": {"a": {}, "b": {}}}, 1, (1, "b")),
            ({"context": {}}, "b", (-1, "b")),
        ):
            found = client.choose(**given, default=default)
            assert (found.index, found.name, found.id, found.propensity) == (*expected, "", None)
            assert client.reward(found, 1.0) is client.reward(found.id, None) is False
            with pytest.raises(Unavailable):
                client.choose(**given)
        for given, default in (({"a": EYE[0]}, "b"), ({"a": EYE[0]}, 1), (EYE, "b")):
            with pytest.raises(ValueError, match="Expected default to be a name or place among those on offer, got"):
                client.choose(given, default=default)


@both
def test_what_is_late_is_told(kind, monkeypatch):
    for body, expected in ((b'{"acknowledged":true}', True), (b'{"acknowledged":true,"late":true}', False)):
        reply = HTTPReply(200, None, body)

        async def later(*_, reply=reply):
            return reply

        monkeypatch.setattr(Client, "_reply", lambda *_, reply=reply: reply)
        monkeypatch.setattr(AsyncClient, "_reply", later)
        with kind("http://127.0.0.1:1", "messages") as client:
            assert client.reward("the id", 1.0) is client.reward("the id", None) is expected


def test_both_clients_outlive_a_server_that_is_killed(tmp_path):
    server = Running(tmp_path, TOML)
    wire = Wire(server.port)
    with Client(wire.address, "messages") as one, Waiting(wire.address, "messages") as two:
        before = [client.choose(EYE, request=f"{i}") for i, client in enumerate((one, two))]
        server.kill()
        found = {}
        waiting = [
            threading.Thread(target=lambda i=i, client=client: found.update({i: client.choose(EYE, request=f"{i}")}))
            for i, client in enumerate((one, two))
        ]
        for thread in waiting:
            thread.start()
        again = Running(tmp_path, TOML)
        wire.port_behind = again.port
        for thread in waiting:
            thread.join(60)
        assert [found[0].id, found[1].id] == [choice.id for choice in before]
        one.reward(before[1], 1.0)
        two.reward(before[0], 1.0)
        assert two.status()["choices"] == 2
    wire.close()
    assert again.stop() == 0


BODY = b'{"choices": 7}'
REPLIES = [
    b"HTTP/1.1 200 OK\r\ncontent-length: 14\r\n\r\n" + BODY,  # and then it ends without a word
    b"HTTP/1.1 200 OK\r\ncontent-length: 14\r\nconnection: close\r\n\r\n" + BODY,
    b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4;x=y\r\n"
    + BODY[:4]
    + b"\r\nA\r\n"
    + BODY[4:]
    + b"\r\n0\r\n\r\n",
    b"HTTP/1.0 200 OK\r\n\r\n" + BODY,
]


@both
def test_replies_of_what_stands_before_a_server_are_read_and_bad_ones_are_none(kind):
    """One connection for each reply; each is asked once, also where the last connection has ended meanwhile."""
    bad = [b"HTTP/1.1 200 OK\r\ncontent-length: 14\r\n\r\n{", b"HTTP", b"no reply\r\n\r\n", b""]
    replies, stop, ended = [*REPLIES, *REPLIES, *bad], threading.Event(), threading.Semaphore(0)
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve():
            for reply in replies:
                with listener.accept()[0] as near:
                    message(near)
                    near.sendall(reply)
                ended.release()
            with listener.accept()[0]:
                stop.wait(30)

        thread = threading.Thread(target=serve)
        thread.start()
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        with kind(address, "messages", patience=0) as client:
            for _ in range(2 * len(REPLIES)):
                assert client.status() == {"choices": 7} and ended.acquire(timeout=30)
                client.rest()
            for _ in bad:
                with pytest.raises(Unavailable):
                    client.status()
        start = time.monotonic()
        with pytest.raises(Unavailable), kind(address, "messages", patience=0, timeout=0.3) as impatient:
            impatient.status()
        assert time.monotonic() - start >= 0.29  # as long as it may take, and not for ever
        stop.set()
        thread.join()


def test_one_asynchronous_client_asks_for_many_at_the_same_time(server):
    async def visits():
        async with AsyncClient(server.address, "messages") as client:
            choices = await asyncio.gather(*(client.choose(EYE, request=f"at once {i % 25}") for i in range(50)))
            await asyncio.gather(*(client.reward(choice, 0.5) for choice in choices))
            assert 1 <= len(client._idle) <= 50  # kept for the next
            task = asyncio.create_task(client.choose(EYE))
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return choices, await client.choose(EYE, request="at once 0")

    choices, again = asyncio.run(visits())
    assert len({choice.id for choice in choices}) == 25 and again.id == choices[0].id


@pytest.fixture
def tls(tmp_path):
    """A server whose certificate is signed by itself."""
    certificates.write(tmp_path / "tls.pem", tmp_path / "tls.key")
    digest = hashlib.sha256(KEYS["app"].encode()).hexdigest()
    text = TOML.replace("[server]", '[server]\ntls_certificate = "tls.pem"\ntls_key = "tls.key"')
    running = Running(tmp_path, text + f'[[keys]]\nname = "app"\nrole = "app"\nrate = 1.0\nhash = "{digest}"\n')
    yield running
    assert running.stop() == 0


def test_tls_and_a_server_that_asks_to_wait(tls, tmp_path, monkeypatch):
    for kind in (Client, Waiting):
        with pytest.raises(Unavailable), kind(tls.address, "messages", key=KEYS["app"], patience=0) as client:
            client.choose(EYE)  # its certificate is by an authority that nobody knows
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "tls.pem"))
    start = time.monotonic()
    for kind in (Client, Waiting):
        with kind(tls.address, "messages", key=KEYS["app"]) as client:
            assert tls.address.startswith("https://") and client.choose(EYE).id
            with pytest.raises(Refused, match="may ask for status"):
                client.status()
    assert time.monotonic() - start > 0.99  # one a second
    with pytest.raises(Unavailable), Client(tls.address.replace("https", "http"), "messages", patience=0) as plain:
        plain.status()


@pytest.mark.parametrize("key", ["k\r\nx-evil: 1", "k\nx", "two words", "", "schlüssel", "k\x00"])
def test_a_key_cannot_add_to_a_request(key):
    for kind in (Client, AsyncClient):
        with pytest.raises(ValueError, match="Expected a key as `reticent key` prints it, got another text") as caught:
            kind("http://127.0.0.1:1", "messages", key=key)
        assert key == "" or key not in str(caught.value)
    call = Caller("http://127.0.0.1:1/be hind/", "a/../b?c#d e\r\nx-evil: 1", key="k", patience=0).get("status")
    assert call.path == "/be%20hind/v1/bandits/a%2F..%2Fb%3Fc%23d%20e%0D%0Ax-evil%3A%201/status"


def test_what_is_sent():
    caller = Caller("https://host/behind", "mes/sages", key="k", patience=0)
    asked = caller.choose(EYE, None, None, "r", None, None, 0, False)
    assert json.loads(asked.body) == {"arms": EYE.tolist(), "request": "r", "own": 0}
    assert caller.end_experiment().path.endswith("/end-experiment") and caller.end_experiment().body == b"{}"
    reward = caller.reward("the id", None)
    assert reward.path == "/behind/v1/bandits/mes%2Fsages/reward"
    assert json.loads(reward.body) == {"id": "the id", "reward": None}
    assert reward.headers == {"authorization": "Bearer k", "content-type": "application/json"}


def test_a_call_waits_as_long_as_the_server_asks_and_longer_each_time(monkeypatch):
    now, gone = [0.0], ConnectionRefusedError()
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    call = Caller("http://host", "messages", key=None, patience=30.0).get("status")
    waits = []
    for reply in (
        *(gone, HTTPReply(200, None, b'{"half'), HTTPReply(429, "7", b"{}"), HTTPReply(502, "never", b"")),
        *[gone] * 11,
    ):
        assert call.answer(reply) is None
        waits.append(call.wait)
        now[0] += call.wait
    assert waits == pytest.approx([0.1, 0.2, 7.0, 0.8, 1.6, *[2.0] * 10])
    assert now[0] > 29  # longer than a restart takes
    with pytest.raises(Unavailable, match="a reply of http://host:80 within 30 s, got none: ConnectionRefusedError."):
        call.answer(gone)
    with pytest.raises(Unavailable, match="got none: 503, Expected a database that can be written: come again."):
        call.answer(HTTPReply(503, "1", b'{"error": "Expected a database that can be written: come again."}'))


def test_a_certificate_that_is_not_trusted_is_not_asked_for_again():
    with pytest.raises(Unavailable, match="SSLCertVerificationError"):
        Caller("https://host", "messages", key=None, patience=30.0).get("status").answer(ssl.SSLCertVerificationError())


def test_tls_that_cannot_be_is_refused_at_once(tmp_path):
    with pytest.raises(ValueError, match="one of them"):
        configs.convert({"bandits": {"a": LINEAR}, "server": {"tls_key": "tls.key"}})
    (tmp_path / "tls.pem").write_text("none")
    for certificate in ("tls.pem", "missing.pem"):
        setting = configs.ServerSetting(tls_certificate=str(tmp_path / certificate), tls_key=str(tmp_path / "tls.pem"))
        with pytest.raises(ValueError, match="Expected a certificate and its key, as PEM files, got "):
            check_tls(setting)
