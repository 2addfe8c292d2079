"""How wide the proven confidence set of a JointGLM is, and its proven regret, beside the real ones, as in
docs/proofs/one-pass.md: `python examples/certified.py 1000000` takes a minute."""

import sys

import numpy as np

from reticent import Bandit, Budget, JointGLM, Reward, Simulated, environments
from reticent.kernels.rounds import next_boundary
from reticent_papers.joint.certified import Trail

WORLDS = (  # link, arms, their least norm
    ("identity", environments.sphere, 1.0),
    ("logistic", environments.sphere, 1.0),
    ("logistic", environments.ball, 0.0),
)


def rows(
    link: str, kind: type, shortest: float, horizon: int, seed: int = 1
) -> list[tuple[int, float, float, float, float]]:
    """After each step: rounds, proven and real distance of the centre from theta*, proven and real regret."""
    world = kind(dim=3, arms=20, radius=1.0, link=link)
    algorithm = JointGLM(3, Budget(1.0, 1e-6), Reward(link=link, range=world.rewards))
    bandit = Bandit(algorithm, source=Simulated(seed), policy=np.random.default_rng(seed))
    place, trail = world.start(np.random.default_rng(1000 + seed), horizon), Trail(bandit, shortest=shortest)
    out, done, regret = [], 0, 0.0
    while done < horizon:
        size = next_boundary(done, *bandit.plan.schedule) - done
        block = world.block(size)
        place.fill(block)
        bandit.play(block)
        trail.look()
        regret += float((block.means.max(axis=1) - block.means[np.arange(size), block.index]).sum())
        done += size
        known = trail.certified()
        out.append((done, known.radius, float(np.linalg.norm(known.centre - place.theta)), trail.regret, regret))
    return out


def main(horizon: int = 20_000) -> None:
    for link, kind, shortest in WORLDS:
        print(f"{link}, {kind.__name__}: rounds, proven and real |theta* - centre|, proven and real regret")
        wanted = 10_000
        for row in rows(link, kind, shortest, horizon):
            if row[0] >= 0.98 * wanted:
                print("  {:>9,} {:8.3f} {:8.3f} {:10,.0f} {:8,.0f}".format(*row))
                wanted *= 10


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
