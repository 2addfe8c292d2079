"""Files of servers: they go on from their own, and what another release wrote is refused by its version."""

import json

import numpy as np
import pytest

from reticent import Budget, Reward, Simulated, environments
from reticent.core import snapshot
from reticent.errors import BadState
from reticent_devices import Embedded, LocalIRLS, ShuffleNewton
from reticent_devices.bandits import server

BUDGET = Budget(4.0, 1e-6)
LATER = ("curvature", "estimate")  # settings that files of version 3 do not have


@pytest.mark.parametrize("kind", [ShuffleNewton, LocalIRLS])
def test_a_file_of_version_3_is_refused_though_its_settings_are_good(tmp_path, kind):
    """Its sums are of batches, one after the other: the same settings now ask for sums of all batches."""
    path = tmp_path / "server.json"
    kind(60, Budget(8.0, 1e-3), Reward(radius=3.0)).save(path)
    text = json.loads(path.read_text())
    body = json.loads(text["body"])
    body["settings"] = {name: value for name, value in body["settings"].items() if name not in LATER}

    def put(version):
        path.write_text(json.dumps(snapshot.document(body, format=server.FORMAT, version=version, raw=False)))

    put(3)
    with pytest.raises(BadState, match="of version 5 in server.json, got version 3, which another release of reticent"):
        kind.load(path)
    put(text["version"])
    kind.load(path)  # nothing else is wrong with it


@pytest.mark.parametrize("options", [{}, {"curvature": "none"}, {"public_arms": True}], ids=str)
def test_a_local_server_goes_on_where_it_was_saved(tmp_path, options):
    made = LocalIRLS(3, BUDGET, first=5, forced=5, **options)
    for _ in range(12):
        client = made.device()
        made.observe(client.randomize(client.choose(np.eye(3)), 1.0))
    made.save(tmp_path / "server.json")
    again = LocalIRLS.load(tmp_path / "server.json")
    assert again.billboard() == made.billboard() and again.theta.any()


@pytest.mark.parametrize("kind", [ShuffleNewton, LocalIRLS])
def test_simulated_rounds_are_for_simulated_noise_which_claims_nothing(kind):
    assert not kind(2, Budget(1.0, 1e-2), source=Simulated(0)).privacy.private
    with pytest.raises(ValueError, match="simulated block"):
        Embedded(kind(2, Budget(1.0, 1e-2))).play(environments.ball(dim=2).block(3))
