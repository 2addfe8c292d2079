"""Files of servers: what another release wrote is refused by its version, and not taken for something else."""

import json

import pytest

from tacit import Budget, LocalIRLS, ShuffleNewton
from tacit.bandits import server, snapshot
from tacit.errors import BadState

LATER = ("curvature", "estimate")  # settings that files of version 3 do not have


@pytest.mark.parametrize("kind", [ShuffleNewton, LocalIRLS])
def test_a_file_of_version_3_is_refused_though_its_settings_are_good(tmp_path, kind):
    """Its sums are of batches, one after the other: the same settings now ask for sums of all batches."""
    path = tmp_path / "server.json"
    kind(dim=60, radius=3.0, budget=Budget(8.0, 1e-3)).save(path)
    text = json.loads(path.read_text())
    body = json.loads(text["body"])
    body["settings"] = {name: value for name, value in body["settings"].items() if name not in LATER}

    def put(version):
        path.write_text(json.dumps(snapshot.document(body, format=server.FORMAT, version=version, raw=False)))

    put(3)
    with pytest.raises(BadState, match="of version 4 in server.json, got version 3, which another release of tacit"):
        kind.load(path)
    put(text["version"])
    kind.load(path)  # nothing else is wrong with it
