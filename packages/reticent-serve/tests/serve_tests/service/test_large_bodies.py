"""Large bodies: others are answered while one is read, and what has too many parts is refused before it is made."""

import asyncio
import json
import sys
import threading
import time

import pytest

from reticent_serve.service import bodies, hot, ofrep
from reticent_serve.service.groups import LARGE, Readers
from reticent_serve.service.served import Served
from serve_tests.service.servers import FIELDS, application, call, stored

TEXTS = {"arms": [[1.0, 0.0, 0.0]], "available": ["a: b"] * 100_000}
EMPTY = b'{"arms":[' + b"[]," * 300_000 + b"[]]}"


@pytest.fixture
def app(tmp_path):
    return application(tmp_path)


def test_while_a_large_body_is_read_others_are_answered():
    """By the thread of another kind, and on the loop; of one kind one is read after the other."""
    readers, go, order = Readers(hot.KINDS), threading.Event(), []

    def slow():
        assert go.wait(30)
        order.append("first")
        return threading.current_thread().name

    async def all_of_them():
        first = asyncio.ensure_future(readers("choose", LARGE + 1, slow))
        second = asyncio.ensure_future(readers("choose", LARGE + 1, lambda: order.append("second")))
        small = await readers("choose", LARGE, lambda: threading.current_thread() is threading.main_thread())
        reward = await readers("reward", LARGE + 1, lambda: threading.current_thread().name)
        assert small and not order
        go.set()
        names = [await first, reward]
        await second
        return names

    names = asyncio.run(all_of_them())
    readers.close()
    assert order == ["first", "second"] and len(set(names)) == 2


@pytest.mark.parametrize("route", ["choose", "choose:batch", "flag"])
def test_large_bodies_are_read_beside_the_loop(tmp_path, route, monkeypatch):
    """Small ones in it: a thread takes longer than they do."""
    app = application(tmp_path, features=FIELDS["features"]) if route == "flag" else application(tmp_path)
    path = f"{ofrep.START}messages" if route == "flag" else f"/v1/bandits/messages/{route}"
    threads = []
    for owner in (Served, ofrep):
        read = owner.read
        monkeypatch.setattr(
            owner, "read", lambda *given, read=read: threads.append(threading.current_thread()) or read(*given)
        )
    given = {"context": {"theme": TEXTS["available"]}} if route == "flag" else TEXTS
    small = {"context": {"theme": []}} if route == "flag" else {"arms": [[1.0, 0.0, 0.0]]}
    for body, beside in ((given, True), (small, False)):
        threads.clear()
        status = answered(app, path, json.dumps(body).encode())
        assert threads and (threading.current_thread() not in threads) == beside
        assert status == (422 if route == "choose" and beside else 200)


def answered(app, path, body):
    """The status."""
    sent = []
    scope = {"type": "http", "method": "POST", "path": path, "headers": [(b"content-type", hot.JSON)]}

    async def receive():
        return {"type": "http.request", "body": body}

    async def send(message):
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    return sent[0]["status"]


@pytest.mark.parametrize("route", ["choose", "reward", "erase"])
def test_too_many_lists_are_refused_whatever_they_are(app, route):
    ((status, _, reply),) = call(app, (route, EMPTY))
    assert status == 422 and b"lists and objects" in reply
    assert call(app, (route, (b"[" * 5000 + b"]" * 5000)))[0][0] == 422


def test_what_stands_in_texts_is_no_list(app):
    names = {"[{" * 100 + str(i): [1.0, 0.0, 0.0] for i in range(20)}
    ((status, _, reply),) = call(app, ("choose", {"arms": names}))
    assert status == 200 and json.loads(reply)["name"] in names
    many = {str(i): [1.0, 0.0, 0.0] for i in range(1000)}
    assert call(app, ("choose", {"arms": many}))[0][0] == 200
    ((_, _, reply),) = call(app, ("choose", {"arms": many | {"one more": [1.0, 0.0, 0.0]}}))
    assert json.loads(reply) == {"error": "Expected at most 1000 arms."} and stored(app).head.choices == 2


@pytest.mark.parametrize("text", ['"[[["', '"\\\\"', '"a\\"[[[b"', '"\\u005b"'])
def test_lists_are_counted_outside_of_texts(text):
    body = f"[{text},[{text}]]".encode()
    bodies.check_containers(body, 2)
    with pytest.raises(ValueError, match="at most 1"):
        bodies.check_containers(body, 1)


def test_colons_in_texts_hide_no_key_that_comes_twice(app):
    arms = b'{"arms":{"a:":[1,0,0],"b":[1,0,0]%s}}'
    assert call(app, ("choose", arms % b""))[0][0] == 200 and call(app, ("choose", arms % b',"b":[0,1,0]'))[0][0] == 422
    assert call(app, ("choose", b'{"arms":{"a":[1,0,0],"a":[1,0,0]}}'))[0][0] == 422


def test_a_batch_of_too_many_lines_is_not_taken_apart(app):
    ((status, _, reply),) = call(app, ("choose:batch", b"\n" * 900_000))
    assert status == 422 and b"1 to 1000 lines" in reply


@pytest.mark.parametrize("read", [bodies.choose, ofrep.read])
def test_a_text_without_an_end_is_read_once(read):
    """Not again from each of its quotes, for a time that is the square of its length: meanwhile nobody is answered."""
    began = time.process_time()
    with pytest.raises(ValueError) if read is bodies.choose else pytest.raises(ofrep.FlagProblem):
        read(b'{"arms":"' + b'\\"' * 30_000 + b"[" * 2000)
    assert time.process_time() - began < 1


def test_lists_in_lists_are_refused_however_deep():
    """Also where as many are allowed as Python cannot look into, one in the other."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(1000)  # Python's own: other tests may have raised it
    try:
        with pytest.raises(ValueError, match="Expected (JSON of|arms without NaN)"):  # as deep as it looks from here
            bodies.choose(b'{"arms":' + b"[" * 900 + b"NaN" + b"]" * 900 + b"}", 5000)
        with pytest.raises(ofrep.FlagProblem):
            called_from(200, b'{"context":{"a":' + b"[" * 990 + b"]" * 990 + b"}}")
    finally:
        sys.setrecursionlimit(before)


def called_from(depth, body):
    return called_from(depth - 1, body) if depth else ofrep.read(body)
