"""What the made-up visitors of docs/tutorial.md teach, over many runs: python -m tools.tutorial [RUNS].

The bandit of examples/messages/serve.toml in memory, with secure noise and each click at once. The visitors are those
of visitors.py, all at one hour, which is drawn for each run. For n visitors: the share of the last tenth who were shown
what they like (one in six by chance), and in how many runs each profile's best guess is what such visitors like."""

import dataclasses
import sys
from pathlib import Path

import numpy as np
from numpy.random import default_rng

from reticent import Bandit, JointGLM
from reticent_serve.service import config

FILE = Path(__file__).parents[1] / "examples" / "messages" / "serve.toml"
VISITORS = (4_000, 10_000, 20_000)
LIKED = {"phone": "discount", "desk": "story"}
CLICKS = 0.35, 0.05  # of who sees what they like, and of others
SEED = 100


def run(seed: int) -> list[tuple[float, list[bool]]]:
    """For each number of visitors: that share, and whether the guess for each profile is right."""
    setting = config.read(FILE).bandits["messages"]
    made = config.build(setting, "messages")
    assert isinstance(made, JointGLM)
    bandit = Bandit(dataclasses.replace(made, reward=dataclasses.replace(made.reward, window=None, default=None)))
    schema, rng = setting.schema, default_rng((SEED, seed))
    assert schema is not None
    hour, shown, out = float(rng.uniform(0, 24)), np.zeros(VISITORS[-1]), []
    for i in range(VISITORS[-1]):
        device, language = str(rng.choice(list(LIKED))), str(rng.choice(["en", "de", "fr", "it"]))
        choice = bandit.choose({"device": device, "hour": hour, "language": language}, person=i)
        shown[i] = choice.name == LIKED[device]
        bandit.observe(choice, float(rng.random() < CLICKS[0 if shown[i] else 1]))
        if i + 1 in VISITORS:
            right = []
            for profile in setting.profiles.values():
                assert profile.context is not None
                names, rows = schema.rows(profile.context)
                right.append(names[int(np.argmax(rows @ bandit.theta))] == LIKED[profile.context["device"]])
            out.append((float(shown[i + 1 - (i + 1) // 10 : i + 1].mean()), right))
    return out


def main(runs: int) -> None:
    found = [run(seed) for seed in range(runs)]
    for k, visitors in enumerate(VISITORS):
        shares = np.array([one[k][0] for one in found])
        right = np.array([one[k][1] for one in found])
        least, mean, most = (round(100 * float(share)) for share in (shares.min(), shares.mean(), shares.max()))
        each, every = ", ".join(map(str, right.sum(axis=0))), right.all(axis=1).sum()
        sys.stdout.write(f"{visitors:>6} visitors: {mean} % ({least} to {most}) were shown what they like; ")
        sys.stdout.write(f"profiles right in {each}, both in {every} of {runs} runs\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
