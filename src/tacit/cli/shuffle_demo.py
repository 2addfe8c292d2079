"""`tacit shuffle-demo`: devices, shuffler and server as three processes on one machine, and what each of them sees.

    devices  --reports-->  shuffler  --one multiset-->  server
       ^------------------- billboard ---------------------|

Each role is its own operating-system process; they share nothing but the pipes between them and the billboard file."""

import json
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

import numpy as np

from tacit.privacy.budget import Budget

DIM, ARMS, RADIUS = 5, 10, 3.0
BUDGET = Budget(1.0, 1e-6)
PIECE = 20_000  # users whose reports are made at a time


def demonstrate(users: int) -> str:
    """Run the three processes for one batch of `users`; what each saw, as text."""
    with TemporaryDirectory() as folder:
        here = Path(folder)
        started = time.perf_counter()
        board = _server_opens(here, users)
        notes = [here / name for name in ("devices.json", "shuffler.json", "server.json")]
        roles = [_role("devices", board, notes[0], users), _role("shuffler", board, notes[1], users)]
        with (
            subprocess.Popen(roles[0], stdout=subprocess.PIPE) as devices,
            subprocess.Popen(roles[1], stdin=devices.stdout, stdout=subprocess.PIPE) as shuffler,
        ):
            assert devices.stdout is not None
            devices.stdout.close()
            last = _role("server", board, notes[2], users)
            server = subprocess.run(last, stdin=shuffler.stdout, capture_output=True, text=True, check=False)
        if devices.returncode or shuffler.returncode or server.returncode:
            raise RuntimeError(f"Expected three processes to finish, got a failure: {server.stderr.strip()[-300:]}")
        seen = [json.loads(path.read_text()) for path in notes]
        return _picture(seen, users, time.perf_counter() - started)


def _role(name: str, board: Path, notes: Path, users: int) -> list[str]:
    code = "import sys; from tacit.cli.shuffle_demo import act; act(*sys.argv[1:])"
    return [sys.executable, "-c", code, name, str(board), str(notes), str(users)]


def _server_opens(folder: Path, users: int) -> Path:
    board = folder / "billboard.json"
    board.write_bytes(_server(users).billboard())
    return board


def _server(users: int) -> Any:
    from tacit.bandits.shuffle.newton import ShuffleNewton

    return ShuffleNewton(dim=DIM, budget=BUDGET, radius=RADIUS, first=users)


def act(name: str, board: str, notes: str, users: str) -> None:
    """One role, in its own process."""
    roles = {"devices": _devices, "shuffler": _shuffler, "server": _analyze}
    seen = roles[name](Path(board).read_bytes(), int(users), sys.stdin.buffer, sys.stdout.buffer)
    Path(notes).write_text(json.dumps(seen))


def _devices(board: bytes, users: int, _: BinaryIO, out: BinaryIO) -> dict[str, Any]:
    """Everybody's arms and rewards; each device's report goes out once it is randomized."""
    from tacit.roles.fleet import Fleet
    from tacit.roles.shuffle import ShuffleClient

    rng = np.random.default_rng()
    theta = rng.standard_normal(DIM)
    theta *= RADIUS / np.linalg.norm(theta)
    client, fleet = ShuffleClient(board), Fleet(board)
    example: dict[str, Any] = {}
    for start in range(0, users, PIECE):
        count = min(PIECE, users - start)
        arms = rng.standard_normal((count, ARMS, DIM))
        arms *= rng.random((count, ARMS, 1)) ** (1 / DIM) / np.linalg.norm(arms, axis=2, keepdims=True)
        x = arms[np.arange(count), rng.integers(0, ARMS, count)]  # the first batch plays random arms
        rewards = (rng.random(count) < 1 / (1 + np.exp(-x @ theta))).astype(np.float64)
        vectors = np.array([client.contribution(row, reward) for row, reward in zip(x, rewards, strict=True)])
        out.write(fleet.reports(vectors))
        if not example:
            example = {"arm": x[0].round(2).tolist(), "reward": rewards[0]}
    return example | {"theta": theta.tolist()}


def _shuffler(board: bytes, users: int, source: BinaryIO, out: BinaryIO) -> dict[str, Any]:
    """Reports in, one multiset out."""
    from tacit.roles.shuffler import Shuffler

    shuffler = Shuffler(board)
    length = shuffler.parameters.length
    received, first = 0, b""
    refused: dict[str, int] = {}
    while stream := source.read(length * PIECE):
        first = first or stream[:length]
        received += len(stream)
        for reason, count in shuffler.add_many(stream).items():
            refused[reason] = refused.get(reason, 0) + count
    counts = np.frombuffer(first, shuffler.parameters.record)["counts"][0]
    message = shuffler.close()
    out.write(message)
    out.flush()
    plan = shuffler.parameters
    return {
        "bytes": received,
        "length": length,
        "reports": shuffler.reports,
        "refused": refused,
        "example": counts[:6].tolist(),
        "slots": plan.slots,
        "sent": len(message),
    }


def _analyze(board: bytes, users: int, source: BinaryIO, _: BinaryIO) -> dict[str, Any]:
    """The multiset in, an estimate and the next billboard out."""
    from tacit.roles import billboard, wire

    server = _server(users)
    message = source.read()
    server.observe(message)
    reports, sums = wire.decode_batch(message, billboard.shuffle(board)[0])
    return {
        "bytes": len(message),
        "reports": reports,
        "sums": sums[:6].tolist(),
        "theta": server.theta.tolist(),
        "epsilon": server.privacy.spent,
        "delta": BUDGET.delta,
        "bits": server.analyzer.plan(0).bits,
    }


def _picture(seen: list[dict[str, Any]], users: int, seconds: float) -> str:
    devices, shuffler, server = seen
    theta, found = np.array(devices["theta"]), np.array(server["theta"])
    cosine = float(theta @ found / np.linalg.norm(theta) / max(float(np.linalg.norm(found)), 1e-12))

    def few(values: list[Any]) -> str:
        return ", ".join(f"{v:,}" if isinstance(v, int) else f"{v:g}" for v in values)

    return "\n".join(
        [
            f"Three processes, {users:,} users, one message each, {seconds:.1f} s.",
            "",
            "  DEVICES see everything about their own user, and nothing of others:",
            f"    user 1: arm [{few(devices['arm'])}], reward {devices['reward']:g}",
            f"    user 1 sends {shuffler['length']} bytes ({server['bits']:,} bits if sent bit by bit)",
            "        |",
            "        v  reports",
            "  SHUFFLER sees reports, knows who sent them, and is trusted to forget it:",
            f"    user 1: [{few(shuffler['example'])}, ...], each within {shuffler['slots']}: rounded value plus coins",
            f"    received {shuffler['reports']:,} reports ({shuffler['bytes'] / 1e6:.1f} MB), "
            f"refused {sum(shuffler['refused'].values())}; hands on {shuffler['sent']} bytes",
            "        |",
            "        v  one multiset",
            "  SERVER sees the number of ones per coordinate, for all users together, and no user:",
            f"    {server['reports']:,} reports: [{few(server['sums'])}, ...]",
            f"    cosine of its estimate and the truth: {cosine:.3f}",
            f"    what it tells of any one user: ({server['epsilon']:.4g}, {server['delta']:g})-differential privacy,",
            "    as long as the server sent none of the reports: it would know their coins",
        ]
    )
