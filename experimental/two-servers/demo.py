"""`make demo-two`: two servers, neither trusted alone, each a process of its own on this machine, with a folder and a
database of its own, and a user of its own where this is started as root. 10 000 simulated devices choose, split and
report; each server's dashboard shows what it can see and what not. All is in a folder that goes when this ends
(Ctrl-C). UNREVIEWED CRYPTOGRAPHY."""

import asyncio
import functools
import json
import os
import shutil
import socket
import sys
import time
import urllib.request
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
from roles import ARMS, CONNECTIONS, THETA, Crowd, demonstrated
from worker import Worker

from reticent.data import Exact
from reticent.privacy import randomness
from reticent_two.roles import signed, wire
from reticent_two.roles.device import TwoServerClient
from reticent_two.roles.identity import Identities
from reticent_two.service import files
from reticent_two.shares import split
from reticent_two.vdaf.field_kernel import P

USERS = {"leader": 61011, "helper": 61012}
RATE = 300.0  # devices a second, if the machine can
COMMON = """
[aggregator]
name = "pastimes"
role = "{role}"
budget = {{epsilon = {limit}, delta = 1e-6}}
database = "{role}/{role}.db"
counter = "{role}/apart/{role}.counter"
identity = "{role}/{role}.identity"
peer_identity = "{theirs}"
peer_certificate = "certificates/{peer}.crt"
{more}

[server]
port = {port}
{user}
"""
LEADER = """peer = "https://127.0.0.1:{listen}"
every = 0.2

[bandit]
features = 3
reward = {{radius = 3.0}}
budget = {{epsilon = 1.0, delta = 1e-6}}
helper_budget = {{epsilon = 4.0, delta = 1e-6}}
horizon = 1000000
"""


def main() -> None:
    with demonstrated(__doc__, "8325 and 8326") as (given, folder, workers):
        identities = prepare(folder, given.any_port)
        for role in ("helper", "leader"):
            workers[role] = Worker(role, folder, f"{role}.toml", module=("reticent_two",))
        addresses = {role: worker.address() for role, worker in workers.items()}
        show(addresses)
        print(f"{given.devices} devices choose, split their contributions in two, and report to the leader", flush=True)
        asyncio.run(everybody(addresses["leader"], identities, given.devices))
        print(sights(addresses, identities), flush=True)


def prepare(folder: Path, any_port: bool) -> Identities:
    """Folders, keys and configurations: what two operators do, each on a machine of its own, and send each other."""
    (folder / "certificates").mkdir()
    known = []
    for role in USERS:
        own = folder / role
        (own / "apart").mkdir(parents=True)
        made = files.opened(own / f"{role}.identity")
        known.append(made.public)
        shutil.copy(made.certificate, folder / "certificates" / f"{role}.crt")
    listen = free()
    for place, (role, peer) in enumerate((("leader", "helper"), ("helper", "leader"))):
        limit = 4.0 if role == "leader" else 1.0  # of the claim that its own noise is made for
        more = LEADER.format(listen=listen) if role == "leader" else f'listen = "127.0.0.1:{listen}"\n'
        text = COMMON.format(
            role=role,
            peer=peer,
            limit=limit,
            theirs=known[1 - place].hex(),
            more=more,
            port=free() if any_port else 8325 + place,
            user=f"user = {USERS[role]}" if os.getuid() == 0 else "",
        )
        (folder / f"{role}.toml").write_text(text)
        own = folder / role
        for path in (own, *own.rglob("*")):
            path.chmod(0o700 if path.is_dir() else 0o600)
            if os.getuid() == 0:
                os.chown(path, USERS[role], USERS[role])
    return Identities(*known)


def free() -> int:
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        return int(place.getsockname()[1])


def show(addresses: dict[str, str]) -> None:
    """Where to look."""
    for role in USERS:
        who = f" (user {USERS[role]})" if os.getuid() == 0 else ""
        print(f"What the {role}{who} sees: {addresses[role]}/dashboard", flush=True)


async def everybody(leader: str, identities: Identities, devices: int) -> None:
    """Each device once; RATE of them a second. The clicks of the first and of the last tenth tell whether anything was
    learnt: devices know them, and no server does."""
    began, turns = time.monotonic(), iter(range(devices))
    crowd = Crowd(leader, functools.partial(TwoServerClient, identities=identities))

    async def in_turn() -> None:
        for i in turns:
            await asyncio.sleep(max(0.0, began + i / RATE - time.monotonic()))
            await crowd.one()

    await asyncio.gather(*(in_turn() for _ in range(CONNECTIONS)))
    tenth = max(1, len(crowd.means) // 10)
    first, last = np.mean(crowd.means[:tenth]), np.mean(crowd.means[-tenth:])
    print(
        f"Expected clicks of the first tenth {first:.0%}, of the last {last:.0%}; best {crowd.best():.0%}", flush=True
    )


# what each party sees


def sights(addresses: dict[str, str], identities: Identities) -> str:
    """Of one more person, whose report is made here, taken apart, and not sent."""
    with urllib.request.urlopen(addresses["leader"] + "/billboard") as reply:
        client = TwoServerClient(billboard := reply.read(), identities=identities)
    task, rng = client.task, np.random.default_rng()
    arms = rng.normal(size=(ARMS, len(THETA)))
    choice = client.choose(arms / np.linalg.norm(arms, axis=1)[:, None])
    vector, nonce, cell = client.contribution(choice.features, 1.0), randomness.octets(16), task.grids[0].cell
    made = split(task.prio3, cell, Exact(vector), nonce)
    shares = [
        task.prio3.verifier_share(bytes(32), party, nonce, made.public, share)[0].numbers
        for party, share in enumerate((made.leader, made.helper))
    ]
    both = [(int(a) + int(b)) % P - task.circuit.centre for a, b in zip(*shares, strict=True)]
    told = [json.load(urllib.request.urlopen(f"{addresses[role]}/status")) for role in USERS]

    def few(values) -> str:
        return ", ".join(f"{int(v):,}" for v in values[:3]) + ", ..."

    theta = ", ".join(f"{v:.2f}" for v in signed.read(billboard).theta)
    rows = [
        ("the device", f"arm {', '.join(f'{v:.2f}' for v in choice.features)}, clicked: yes"),
        ("", f"contribution in cells of {cell:g}: {few(np.rint(np.asarray(vector) / cell))}"),
        ("the network", f"{wire.length(task):,} sealed bytes, the same number from everybody"),
        ("the leader", f"its share: {few(shares[0])}"),
        ("the helper", f"its share: {few(shares[1])}"),
        ("both together", f"{few(both)}   the contribution itself: they must not work together"),
        ("everybody", f"{told[0]['step']} steps with the noise of both; estimate {theta}"),
        ("", f"against the operator epsilon {told[0]['epsilon']['leader']:g}, against the helper "
         f"{told[0]['epsilon']['helper']:g}"),
        ("on disk", f"of {told[0]['users']:,} and {told[1]['users']:,} reports in closed steps each server keeps "
         "their random numbers, and its share of the sums"),
    ]  # fmt: skip
    return "What each party sees of one person:\n" + "\n".join(f"  {who:<15}{what}" for who, what in rows)


if __name__ == "__main__":
    main()
