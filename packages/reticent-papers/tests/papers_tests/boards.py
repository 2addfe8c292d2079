"""Billboards of this package's servers, and their devices, for the core's tests of hostile billboards and reports."""

from functools import partial

from devices_tests.roles import boards
from devices_tests.roles.boards import BUDGET, COARSE, FIELDS
from reticent import Reward
from reticent_papers import (
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
from reticent_papers.local.device import PublishedClient
from reticent_papers.shuffle.rounds import RoundsClient
from reticent_papers.shuffle.sblb_device import SBLBClient

SERVERS = {
    "lin-ucb": lambda: LocalLinUCB(2, BUDGET),
    "online-ucb": lambda: LocalOnlineUCB(
        2, BUDGET, Reward("identity", range=(5.0, 6.0)), eigenvalue=0.0, width_scale=1.0
    ),
    "anytime-ucb": lambda: LocalAnytimeUCB(2, BUDGET),
    "combiner": lambda: LocalCombiner(2, BUDGET, horizon=1000),
    "glm": lambda: LocalGLM(3, BUDGET),
    "glm-linear": lambda: LocalGLM(1, BUDGET, Reward("identity", 2.0), randomizer="gaussian"),
    "square-cb": lambda: LocalSquareCB(2, BUDGET, Reward("identity", range=(-2.0, 1.0)), horizon=1000, first=20),
    "reweighted": lambda: LocalReweighted(2, BUDGET, horizon=1000, first=60),
    "reweighted-steps": lambda: LocalReweighted(2, BUDGET, Reward("probit"), horizon=1000, first=200),
    "reweighted-linear": lambda: LocalReweighted(
        2, BUDGET, Reward("identity", range=(-1.0, 1.0)), horizon=1000, first=200
    ),
    "shuffle-lin-ucb": lambda: ShuffleLinUCB(2, COARSE, first=60, horizon=1000),
    "shuffle-sblb": lambda: ShuffleSBLB(2, COARSE, Reward("identity", range=(-2.0, 1.0)), first=60, horizon=1000),
    "shuffle-sblb-fields": lambda: ShuffleSBLB(
        FIELDS, COARSE, first=60, horizon=1000, bits=3, dropout=0.1, malicious=0.1
    ),
    "shuffle-glm": lambda: ShuffleGLM(2, COARSE, first=60, iterations=2, horizon=1000),
    "shuffle-glm-fields": lambda: ShuffleGLM(
        FIELDS, COARSE, Reward("probit"), first=60, iterations=2, horizon=1000, dropout=0.1, malicious=0.1
    ),
}
boards.ALL.update(SERVERS)
boards.DEVICES.update({b'"reticent billboard of rounds"': RoundsClient, b'"reticent billboard of bits"': SBLBClient})
for kind in ("LinUCB", "OnlineUCB", "AnytimeUCB", "Combiner", "GLM", "SquareCB", "Reweighted"):
    boards.DEVICES[f'"Local{kind}"'.encode()] = partial(PublishedClient, public_arms=True)
