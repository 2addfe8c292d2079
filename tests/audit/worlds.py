"""Two worlds from a certificate's own words, and all that leaves in each of them: for one audit of every claim.

What the certificate says is public is the same in both worlds; everything else is as different as it can be. A relation
that is not here is a KeyError, so that a new one has to be thought about."""

import json
import zlib
from typing import Any, NamedTuple

import numpy as np

from devices_tests.roles.boards import another
from reticent.privacy.ledger import Gaussian
from reticent.testing.stage import fresh
from reticent_devices import Shuffler
from reticent_devices.mechanisms.randomizers import from_document
from reticent_devices.roles import local, wire
from reticent_devices.roles.billboard import TAG
from reticent_lab.audit.bound import gaussian_bound, general_bound
from reticent_papers.local.device import PublishedClient
from reticent_papers.shuffle import aggregation, rounds

SURE = 1 - 1e-6  # confidence of a bound: devices draw from the operating system, so that no seed can be fixed
FRAME = 1 + local.ID_BYTES + TAG  # bytes before the numbers of a local report: its kind, its id, the billboard's tag
HEAD = wire.BATCH.size  # bytes before the sums of a shuffled batch
AHEAD, BACK, ASIDE, NOTHING = (1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, 0.0)
LOW, HIGH, NONE = "low", "high", None


class Fate(NamedTuple):
    """What one user does, or one person in each round: the only arm on offer, and the reward or none."""

    arm: tuple[float, float]
    reward: str | None


STRONGEST, NOBODY = Fate(AHEAD, HIGH), Fate(NOTHING, NONE)
OTHERS = {  # relation -> who may be there instead
    "replace": (Fate(BACK, HIGH), Fate(AHEAD, LOW), Fate(ASIDE, NONE)),
    "replace rewards": (Fate(AHEAD, LOW), Fate(AHEAD, NONE)),
    "replace rows": (Fate(BACK, HIGH), Fate(AHEAD, LOW)),
}


def pairs(certificate):
    """The pairs of worlds that it compares. Its unit has to say what its relation takes to be public."""
    others = OTHERS[certificate.neighbours]
    said = "features and offered arms are public" in certificate.unit
    assert said == all(other.arm == STRONGEST.arm for other in others)
    return [(STRONGEST, other) for other in others]


def convicted(certificate, leave, *, gaussian=60, general=150):
    """The pairs of worlds of which what leaves can be told apart better than the certificate claims, each with the
    bound. leave(fate, runs) -> (runs, numbers) of independent runs. gaussian, general: runs of a world, by what the
    claim rests on; so many are enough to convict what is not hidden at all."""
    rests = all(isinstance(release, Gaussian) for release in certificate.releases)
    bound, runs = (gaussian_bound, gaussian) if rests else (general_bound, general)
    compared, out = pairs(certificate), []
    seen = {fate: np.split(leave(fate, 2 * runs), 2) for fate in dict.fromkeys(sum(compared, ()))}
    for zero, one in compared:
        score = discriminant(seen[zero][0], seen[one][0])  # learnt from other runs than it is tried on
        found = bound(seen[zero][1] @ score, seen[one][1] @ score, certificate.delta, confidence=SURE)
        if found > certificate.epsilon * (1 + 1e-6):
            out.append((one, found))
    return out


def discriminant(zero, one):
    """The best linear score, nearly (Fisher); what differs and has no noise in it decides alone."""
    apart = one.mean(axis=0) - zero.mean(axis=0)
    spread = np.atleast_2d(np.cov(zero, rowvar=False) + np.cov(one, rowvar=False))
    return np.linalg.solve(spread + np.diag(1e-9 * np.diag(spread) + 1e-15), apart)


# what leaves


def given(made, reward):
    memory = getattr(made, "memory", None)
    low, high = getattr(made, "targets", None) or (made.rewards if memory is None else memory.validator.rewards)
    return {LOW: low, HIGH: high, NONE: None}[reward]


def seeded(fate):
    return np.random.default_rng(zlib.crc32(repr(fate).encode()))


def reports(server):
    """Local: one report of one device, at the billboard as it is."""
    board = server.billboard()
    client, made = PublishedClient(board, public_arms=True), from_document(json.loads(board)["randomizer"])
    clear = json.loads(board)["report"]["name"] == "public"

    def leave(fate, runs):
        out = []
        for _ in range(runs):
            body = client.randomize(client.choose([fate.arm]), given(server, fate.reward))[FRAME:]
            out.append([*np.frombuffer(body[:-1], "<f8"), body[-1]] if clear else made.decode(body))
        return np.array(out, float)

    return leave


def batches(server, adder=Shuffler):
    """Shuffle: the sums of one batch of as many users as are planned, all but one of whom send coins alone."""
    board, client = server.billboard(), server.device()

    def leave(fate, runs):
        out = []
        for _ in range(runs):
            shuffler = adder(board)
            shuffler.add(report(client, fate.arm, given(server, fate.reward)))
            for _ in range(server.wanted - 1):
                shuffler.add(report(client, NOTHING, None))
            out.append(np.frombuffer(shuffler.close()[HEAD:], "<i8"))
        return np.array(out, float)

    return leave


def sums_of_an_arm(server):
    """The same where the server is shown a sum modulo m; it is moved so that what is near 0 is not near m."""
    leave, plan = batches(server, aggregation.Aggregator), server._plan_of(0)
    return lambda fate, runs: (leave(fate, runs) + plan.reach) % plan.modulus


def report(client, arm, reward):
    """Of somebody else at the same billboard: a device reports once to a batch."""
    device = another(client)
    return device.randomize(device.choose([arm]), reward)


def batches_of_rounds(server):
    """The same where every user answers several times: all sums of a batch."""

    def leave(fate, runs):
        out = []
        for _ in range(runs):
            server._state = server.init()
            out.append(np.concatenate(list(_rounds(server, fate))))
        return np.array(out, float)

    return leave


def _rounds(server, fate):
    board = server.billboard()
    client, fates = rounds.RoundsClient(board), [fate, *[NOBODY] * (server.wanted - 1)]
    devices = [another(client) for _ in fates]
    choices = [device.choose([fate.arm]) for device, fate in zip(devices, fates, strict=True)]
    sent = [d.randomize(c, given(server, one.reward)) for d, c, one in zip(devices, choices, fates, strict=True)]
    while True:
        shuffler = Shuffler(board)
        for each in sent:
            shuffler.add(each)
        message = shuffler.close()
        yield np.frombuffer(message[HEAD:], "<i8")
        server.observe(message)
        board = server.billboard()
        if not json.loads(board)["round"]:
            return
        sent = [device.answer(choice, board) for device, choice in zip(devices, choices, strict=True)]


def releases(make, visits, choices):
    """Joint: all that may be shown half-way and in the end. A person comes `visits` times, and is served or refused as
    the bandit has it; the others, up to so many choices, contribute nothing."""

    def leave(fate, runs):
        rng, out = seeded(fate), []
        for bandit in fresh(make, runs, rng):
            seen = []
            for turn in range(choices):
                _visit(bandit, *((fate, "somebody") if turn < visits else (NOBODY, f"other {turn}")))
                if turn in (choices // 2, choices - 1):
                    seen.append(shown(bandit))
            out.append(np.concatenate(seen))
        return np.array(out, float)

    return leave


def _visit(bandit, fate, person):
    known = bandit.memory.validator.limited
    arms, beside = _offer(bandit, fate.arm)
    choice = bandit.choose(arms, **beside | ({"person": person} if known else {}))
    if fate.reward is not None:
        bandit.observe(choice, given(bandit, fate.reward))


def _offer(bandit, arm):
    """The arm; or, where features are fields, a person and an action that are as far from others as they can be."""
    if getattr(bandit, "_one_set", False):
        return np.eye(2), {}
    if getattr(bandit, "features", None) is None:
        return [arm], {}
    ahead = arm == AHEAD
    return {"x": 0.0 if ahead else 1.0}, {"actions": [bandit.features.actions[0 if ahead else 1]]}


def shown(bandit: Any) -> Any:
    """The public face of a bandit, as numbers."""
    parts = [bandit.theta] if hasattr(bandit, "theta") else []
    if hasattr(bandit, "statistics"):
        parts += [np.ravel(bandit.statistics.gram), bandit.statistics.moment]
    if hasattr(bandit, "interval"):
        parts += [np.ravel(bandit.interval(np.eye(2) if getattr(bandit, "features", None) is None else {"x": 0.0}))]
    if hasattr(bandit, "intervals"):
        parts += [np.ravel(ends) for epoch in bandit.intervals(np.eye(2)) for ends in epoch]
    return np.concatenate([np.zeros(0), *parts])


def fits(make, people):
    """Regression: what a fit of so many rows shows, all but one of whom are zeros."""

    def leave(fate, runs):
        rng, x = seeded(fate), np.zeros((people, 2))
        x[0] = fate.arm
        out = []
        for _ in range(runs):
            regressor = make(int(rng.integers(2**63)))
            y = np.full(people, given(regressor, LOW))
            y[0] = given(regressor, fate.reward)
            regressor.fit(x, y)
            out.append([*regressor.theta_, *np.ravel(regressor.predict_interval(np.eye(2)))])
        return np.array(out, float)

    return leave
