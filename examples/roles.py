"""`make demo-roles`: devices, shuffler, analyzer and a server of the local model, each a process of its own on this
machine, with users of their own where this is started as root. 10 000 simulated devices choose, randomise and report,
to the shuffler by sealed reports; each role's dashboard shows what it can see and what not. All is in a folder that
goes when this ends (Ctrl-C)."""

import argparse
import asyncio
import contextlib
import functools
import http.server
import json
import os
import shutil
import signal
import tempfile
import threading
import time
import urllib.parse
import urllib.request
from pathlib import Path

import numpy as np
from worker import Worker

from reticent_devices.roles import local, sealed, shuffle
from reticent_devices.roles.wire import PLACE

USERS = {"analyzer": 61001, "shuffler": 61002, "local": 61003}
THETA, ARMS, RATE, CONNECTIONS = np.array([1.6, -1.9, 1.1]), 5, 400.0, 8
PAGE = Path(__file__).parents[1] / "packages" / "reticent-devices" / "js"  # a device in the browser
RENEW = 0.2  # seconds: reports by an older billboard may come too late
WAITS = {"wait": 3000, "jitter": 2000}  # milliseconds from a choice to its report: batches are short here
TOML = {
    "analyzer": """
[analyzer]
name = "pastimes"
kind = "shuffle-newton"
features = 3
reward = {radius = 3.0}
budget = {epsilon = 1.0, delta = 1e-6}
database = "analyzer.db"
options = {first = 1000, malicious = 0.1}
""",
    "shuffler": """
[shuffler]
name = "pastimes"
analyzer = "%s"
budget = {epsilon = 1.0, delta = 1e-6}
malicious = 0.1
database = "shuffler.db"
sealed = "shuffler/identity"
witness = "shuffler-witness/closed"
""",
    "local": """
[local]
name = "pastimes"
kind = "local-irls"
features = 3
reward = {radius = 3.0}
budget = {epsilon = 4.0, delta = 1e-6}
database = "local.db"
""",
}


def main() -> None:
    with demonstrated(__doc__, "8322 to 8324") as (given, folder, workers):
        for role in USERS:
            address = workers["analyzer"].address() if role == "shuffler" else ""
            workers[role] = begin(folder, role, address, given.any_port)
        addresses = {role: worker.address() for role, worker in workers.items()}
        show(addresses)
        print(f"{given.devices} devices choose and report, to the shuffler and to the local server", flush=True)
        asyncio.run(everybody(addresses, given.devices))


@contextlib.contextmanager
def demonstrated(about: str, ports: str):
    """(options, a folder, the processes that were started): all of it goes at the end, or, without --end, when somebody
    interrupts it."""
    options = argparse.ArgumentParser(description=about)
    options.add_argument("--devices", type=int, default=10_000)
    options.add_argument("--any-port", action="store_true", help=f"whichever is free, not {ports}")
    options.add_argument("--end", action="store_true", help="when all devices have reported")
    given = options.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    folder, workers = Path(tempfile.mkdtemp(prefix="reticent-demo-")), {}
    folder.chmod(0o755)
    try:
        yield given, folder, workers
        while not given.end and all(worker.process.poll() is None for worker in workers.values()):
            time.sleep(0.2)
        if not given.end:
            raise SystemExit("Expected all servers to serve, got one that ended.")
    except KeyboardInterrupt:
        print("Ending", flush=True)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        for worker in workers.values():
            worker.end()
        shutil.rmtree(folder, ignore_errors=True)


def begin(folder: Path, role: str, analyzer: str, any_port: bool) -> Worker:
    own, text = folder / role, TOML[role] % analyzer if "%s" in TOML[role] else TOML[role]
    for made in (own, folder / f"{role}-witness"):
        made.mkdir(mode=0o700)
        if os.getuid() == 0:
            os.chown(made, USERS[role], USERS[role])
    if os.getuid() == 0:
        text += f"[server]\nuser = {USERS[role]}\n"
    (folder / f"{role}.toml").write_text(text.replace('database = "', f'database = "{role}/'))
    return Worker(role, folder, role, f"{role}.toml", *(["--port", "0"] if any_port else []))


def show(addresses: dict[str, str]) -> None:
    """Where to look; with a page as a device among the simulated ones, if there is one."""
    for role, address in addresses.items():
        who = f" (user {USERS[role]})" if os.getuid() == 0 else ""
        print(f"What the {role}{who} sees: {address}/dashboard", flush=True)
    if (PAGE / "demo" / "index.html").exists():
        told = {role: addresses[role] for role in ("shuffler", "local")} | WAITS
        told["identity"] = identity_of(addresses["shuffler"]).hex()
        query = urllib.parse.urlencode(told)
        print(f"A device in your browser: {files_of(PAGE)}/demo/?{query}", flush=True)


def identity_of(shuffler: str) -> bytes:
    """What an application has in its code; here the shuffler was made a moment ago."""
    with urllib.request.urlopen(f"{shuffler}/status") as answer:
        return bytes.fromhex(json.load(answer)["identity"])


def files_of(folder: Path) -> str:
    """Where a browser finds them, as long as this runs."""
    quiet = type("Quiet", (http.server.SimpleHTTPRequestHandler,), {"log_message": lambda *said: None})
    handler = functools.partial(quiet, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


# devices


async def everybody(addresses: dict[str, str], devices: int) -> None:
    """Each device once; RATE of them a second, whatever comes of it. The clicks of the first and of the last tenth tell
    whether anything was learnt: devices know them, and no role does."""
    began = time.monotonic()
    served = {
        "shuffler": Sealing(addresses["shuffler"], shuffle.ShuffleClient),
        "local": Crowd(addresses["local"], functools.partial(local.LocalClient, epsilon=4.0)),
    }
    turns = iter(range(devices))

    async def in_turn() -> None:
        for i in turns:
            await asyncio.sleep(max(0.0, began + i / RATE - time.monotonic()))
            for crowd in served.values():
                await crowd.one()

    await asyncio.gather(*(in_turn() for _ in range(CONNECTIONS)))
    epsilons = {"shuffler": "ε = 1, few batches", "local": "ε = 4"}
    for role, crowd in served.items():
        tenth = max(1, len(crowd.means) // 10)
        first, last = np.mean(crowd.means[:tenth]), np.mean(crowd.means[-tenth:])
        print(
            f"{role} ({epsilons[role]}): expected clicks of the first tenth {first:.0%}, of the last {last:.0%}; "
            f"best {crowd.best():.0%}"
        )


class Crowd:
    """Devices at one server, each with a choice of its own. The billboard is asked for now and then, by all."""

    def __init__(self, address: str, kind) -> None:
        self._host, self._port = urllib.parse.urlsplit(address).netloc, urllib.parse.urlsplit(address).port
        self._kind, self._board, self._until = kind, b"", 0.0
        self._rng, self._turn, self._free = np.random.default_rng(), asyncio.Lock(), []
        self.means, self._most = [], []

    def best(self) -> float:
        return float(np.mean(self._most))

    async def one(self) -> None:
        """Choose, and report whatever came of it: the same bytes until they are taken or come too late."""
        client = self._kind(await self._billboard(), rewards=(0.0, 1.0))
        arms = self._rng.normal(size=(ARMS, len(THETA)))
        arms /= np.linalg.norm(arms, axis=1)[:, None]
        chances = 1 / (1 + np.exp(-arms @ THETA))
        choice = client.choose(arms)
        self.means.append(chances[choice.index])
        self._most.append(chances.max())
        report = client.randomize(choice, float(self._rng.random() < chances[choice.index]))
        body = await self._body(report)
        while body and (await self._ask("POST /reports", body))[0] == 503:
            await asyncio.sleep(0.1)

    async def _body(self, report: bytes) -> bytes | None:
        return report

    async def _billboard(self):
        async with self._turn:
            while time.monotonic() > self._until:
                status, board = await self._ask("GET /billboard", b"")
                if status == 200:
                    self._board, self._until = board, time.monotonic() + RENEW
                else:
                    await asyncio.sleep(0.1)
        return self._board

    async def _ask(self, what: str, body: bytes) -> tuple[int, bytes]:
        """Status and body of the reply, over a connection that is free or new."""
        reader, writer = self._free.pop() if self._free else await asyncio.open_connection("127.0.0.1", self._port)
        head = f"{what} HTTP/1.1\r\nhost: {self._host}\r\ncontent-type: application/octet-stream\r\n"
        writer.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
        said = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(said.partition("content-length: ")[2].partition("\r")[0])
        reply = await reader.readexactly(length)
        self._free.append((reader, writer))
        return int(said.split()[1]), reply


class Sealing(Crowd):
    """Reports are sealed to the key of their batch, so that a relay may pass them on."""

    def __init__(self, address: str, kind) -> None:
        super().__init__(address, kind)
        self._pinned, self._key = identity_of(address), None

    async def _body(self, report: bytes) -> bytes | None:
        """None for a report whose batch is closed."""
        number = int.from_bytes(report[PLACE][: sealed.NUMBER], "little")
        while self._key is None or self._key.number < number:
            status, shown = await self._ask("GET /key", b"")
            if status == 200:
                self._key = sealed.checked(shown, self._pinned)
            else:
                await asyncio.sleep(0.1)
        return sealed.sealed(report, self._key) if self._key.place == report[PLACE] else None


if __name__ == "__main__":
    main()
