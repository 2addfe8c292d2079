"""`python -m devices_tests.js.bench`: how long the JavaScript device takes, in Node and in Chromium, as it is
packed."""

import tempfile
from pathlib import Path

from numpy.random import default_rng

from devices_tests.js import chromium, node, vectors
from reticent import Budget, Reward
from reticent_devices import LocalIRLS, ShuffleNewton

SERVERS = {
    "ShuffleNewton, d = 5": ShuffleNewton(5, Budget(1.0, 1e-6), first=2000),
    "ShuffleNewton, d = 20": ShuffleNewton(20, Budget(1.0, 1e-6), first=20_000),
    "LocalIRLS, cap, d = 5": LocalIRLS(5, Budget(4.0, 0.0), Reward(radius=3.0)),
    "LocalIRLS, cap, d = 20": LocalIRLS(20, Budget(4.0, 0.0), Reward(radius=3.0)),
    "LocalIRLS, Gaussian, d = 5": LocalIRLS(5, Budget(1.0, 1e-6), Reward(radius=3.0), randomizer="gaussian"),
    "LocalIRLS, public arms, d = 5": LocalIRLS(5, Budget(1.0, 0.0), Reward(radius=3.0), public_arms=True),
}
DRAWS = 50


def main():
    rng, folder = default_rng(1), Path(tempfile.mkdtemp())
    boards = []
    for server in SERVERS.values():
        arms = rng.uniform(-1, 1, (10, server.dim)) / server.dim**0.5
        boards.append({"board": vectors.text(server.billboard()), "arms": arms.tolist()})
    file = vectors.save({"boards": boards, "draws": DRAWS}, folder / "timed.json")
    package = node.packed(folder) / "dist"
    with chromium.opened(tests=node.HERE) as browser:
        for place, run in (("node", node.task), ("chromium", browser)):
            for name, one in zip(SERVERS, run(package, "timed", file), strict=True):
                print(f"{place:10}{name:34}" + "".join(f"{what} {ms:8.2f} ms  " for what, ms in one.items()))


if __name__ == "__main__":
    main()
