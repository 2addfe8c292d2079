"""python -m tools.stall: how long small requests wait while other clients send a megabyte each, as fast as they get
replies. One server in a process of its own; all share the machine, so compare the rows of one run."""

import contextlib
import http.client
import json
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tools.bench.serve import running

DIM, SECONDS = 45, 8.0
CONFIG = f"""
[bandits.bench]
kind = "joint-glm"
features = {DIM}
budget = {{epsilon = 1.0, delta = 1e-6}}
reward = {{window = "1 second"}}
database = "bench.db"
"""
SMALL = json.dumps({"arms": [[1.0] + [0.0] * (DIM - 1), [0.0] * (DIM - 1) + [1.0]]}).encode()


def megabytes() -> dict[str, list[bytes]]:
    """What is sent beside the small requests, by how many clients."""
    row = [round(x, 17) for x in np.random.default_rng(1).uniform(0, 1 / DIM, DIM)]
    named = json.dumps({"arms": {f"the name of arm {i}": row for i in range(1000)}}).encode()
    many = json.dumps({"arms": {str(i): [1] for i in range(76_000)}}, separators=(",", ":")).encode()
    empty = b'{"arms":[' + b"[]," * 330_000 + b"[]]}"
    texts = json.dumps({"arms": [[1]], "available": ["a"] * 245_000}, separators=(",", ":")).encode()
    return {
        "nobody": [],
        "two with 1000 named arms": [named] * 2,
        "two with 76 000 named arms, refused": [many] * 2,
        "one with 330 000 empty arms, refused": [empty],
        "one with 245 000 texts, refused": [texts],
    }


def ask(connection: http.client.HTTPConnection, body: bytes) -> int:
    connection.request("POST", "/v1/bandits/bench/choose", body, {"content-type": "application/json"})
    response = connection.getresponse()
    response.read()
    return response.status


@contextlib.contextmanager
def beside(port: int, given: list[bytes]) -> Iterator[list[int]]:
    """Clients that send these; what is gained is how many each has sent."""
    stop, counts = threading.Event(), [0] * len(given)

    def send(i: int) -> None:
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
            while not stop.is_set():
                ask(connection, given[i])
                counts[i] += 1

    threads = [threading.Thread(target=send, args=(i,)) for i in range(len(given))]
    for thread in threads:
        thread.start()
    try:
        yield counts
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def main() -> None:
    print(f"{'beside':<38} {'p50, ms':>8} {'p99, ms':>8} {'most, ms':>8} {'large ones a second':>20}")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "bench.toml").write_text(CONFIG)
        with running("reticent", "serve", str(Path(folder) / "bench.toml"), "--port", "0") as (port, _):
            for name, given in megabytes().items():
                times = []
                with (
                    contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection,
                    beside(port, given) as counts,
                ):
                    until = time.perf_counter() + SECONDS
                    while (began := time.perf_counter()) < until:
                        assert ask(connection, SMALL) == 200
                        times.append(1e3 * (time.perf_counter() - began))
                        time.sleep(0.002)
                p50, p99, most = np.quantile(times, [0.5, 0.99, 1.0])
                print(f"{name:<38} {p50:8.1f} {p99:8.1f} {most:8.1f} {sum(counts) / SECONDS:20.1f}", flush=True)


if __name__ == "__main__":
    main()
