"""Nothing that a shuffler shows, answers or writes in a size of its own depends on what people's reports say."""

import asyncio

import apsw
import numpy as np

from devices_tests.service.roles.running import until
from reticent_devices.roles.shuffle import ShuffleClient
from reticent_devices.servers import page, settings
from reticent_devices.servers.role import Board
from reticent_devices.servers.shuffler import ShufflerRole

SHUFFLER = {"budget": {"epsilon": 1.0, "delta": 1e-6}, "database": "shuffler.db", "malicious": 0}
WANTED = 60  # reports


def seen(folder, stub, people):
    """All that is to be seen of a batch of these people's reports, step by step, but for times."""
    folder.mkdir()
    more = {"analyzer": f"http://127.0.0.1:{stub.port}", "witness": f"../{folder.name}.witness"}
    role = ShufflerRole(settings.convert("shuffler", {"shuffler": SHUFFLER | more}, folder).shuffler, 100)
    role.open()
    until(lambda: isinstance(role.board(), Board))
    out = []
    for x, reward in people:
        client = ShuffleClient(stub.billboard)
        report = client.randomize(client.choose([x]), reward)
        out.append((len(report), asyncio.run(role.post("reports", [], report, ""))))
        out.append((page.of(role.status() | {"events": []}, role.problem()), role.metrics()))
    out.append(until(lambda: len(found := [event["what"] for event in role.status()["events"]]) >= 3 and found)[:3])
    role.close()
    rows = apsw.Connection(str(folder / "shuffler.db"))
    out.append([tuple(rows.execute(f"SELECT count(*) FROM {table}")) for table in ("batch", "journal", "part")])
    out.append(sorted((path.name, path.stat().st_size) for path in folder.rglob("*") if path.is_file()))
    rows.close()
    (message,) = {message for _, message in stub.batches}
    stub.batches.clear()
    return out, message


def test_what_is_seen_of_a_batch_is_the_same_whoever_was_in_it(tmp_path, stub):
    rng = np.random.default_rng(0)
    people = [(rng.uniform(-0.7, 0.7, 2), float(rng.random() < 0.5)) for _ in range(60)]
    others = [(np.array([0.9, -0.1]), 1.0)] * 30 + [(np.array([-0.2, 0.6]), None)] * 30
    (first, one), (second, other) = seen(tmp_path / "a", stub, people), seen(tmp_path / "b", stub, others)
    assert first == second
    assert one != other and len(one) == len(other)  # their sums do differ
