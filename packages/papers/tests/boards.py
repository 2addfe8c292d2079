"""Billboards of this package's servers, and their devices, for the core's tests of hostile billboards and reports."""

from functools import partial

from tacit_papers import (
    LocalAnytimeUCB,
    LocalCombiner,
    LocalGLM,
    LocalLinUCB,
    LocalOnlineUCB,
    LocalReweighted,
    LocalSquareCB,
    ShuffleGLM,
    ShuffleLinUCB,
    ShuffleSBLB,
)
from tacit_papers.local.device import PublishedClient
from tacit_papers.shuffle.rounds import RoundsClient
from tacit_papers.shuffle.sblb_device import SBLBClient
from tests.roles import boards
from tests.roles.boards import BUDGET, COARSE, FIELDS

SERVERS = {
    "lin-ucb": lambda: LocalLinUCB(dim=2, budget=BUDGET),
    "online-ucb": lambda: LocalOnlineUCB(dim=2, budget=BUDGET, rewards=(5.0, 6.0), eigenvalue=0.0, width_scale=1.0),
    "anytime-ucb": lambda: LocalAnytimeUCB(dim=2, budget=BUDGET),
    "combiner": lambda: LocalCombiner(dim=2, budget=BUDGET, horizon=1000),
    "glm": lambda: LocalGLM(dim=3, budget=BUDGET),
    "glm-linear": lambda: LocalGLM(dim=1, link="identity", budget=BUDGET, randomizer="gaussian", radius=2.0),
    "square-cb": lambda: LocalSquareCB(dim=2, budget=BUDGET, horizon=1000, first=20, rewards=(-2.0, 1.0)),
    "reweighted": lambda: LocalReweighted(dim=2, budget=BUDGET, horizon=1000, first=60),
    "reweighted-steps": lambda: LocalReweighted(dim=2, budget=BUDGET, horizon=1000, first=200, link="probit"),
    "reweighted-linear": lambda: LocalReweighted(
        dim=2, link="identity", rewards=(-1.0, 1.0), budget=BUDGET, horizon=1000, first=200
    ),
    "shuffle-lin-ucb": lambda: ShuffleLinUCB(dim=2, budget=COARSE, first=60, horizon=1000),
    "shuffle-sblb": lambda: ShuffleSBLB(dim=2, budget=COARSE, first=60, horizon=1000, rewards=(-2.0, 1.0)),
    "shuffle-sblb-fields": lambda: ShuffleSBLB(
        features=FIELDS, budget=COARSE, first=60, horizon=1000, bits=3, dropout=0.1, malicious=0.1
    ),
    "shuffle-glm": lambda: ShuffleGLM(dim=2, budget=COARSE, first=60, iterations=2, horizon=1000),
    "shuffle-glm-fields": lambda: ShuffleGLM(
        features=FIELDS, budget=COARSE, first=60, iterations=2, horizon=1000, link="probit", dropout=0.1, malicious=0.1
    ),
}
boards.ALL.update(SERVERS)
boards.DEVICES.update({b'"tacit billboard of rounds"': RoundsClient, b'"tacit billboard of bits"': SBLBClient})
for kind in ("LinUCB", "OnlineUCB", "AnytimeUCB", "Combiner", "GLM", "SquareCB", "Reweighted"):
    boards.DEVICES[f'"Local{kind}"'.encode()] = partial(PublishedClient, public_arms=True)
