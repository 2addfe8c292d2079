"""Microseconds a round: ours, a plain NumPy loop of the same algorithm, and other libraries' LinUCB without privacy.

d = 5, K = 25, the environment's work included, one core, all in one process one after the other: read the ratios."""

import resource
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.random import SeedSequence, default_rng
from rich.box import SIMPLE_HEAD
from rich.table import Table

from tacit.bandits import JointLinUCB, LinUCB
from tacit.checks import Array
from tacit.environments import sphere
from tacit.experiments.runner import run_once
from tacit.experiments.spec import Spec
from tacit.experiments.table import to_text
from tacit.privacy.budget import Budget

WORLD = sphere(dim=5, arms=25)
BUDGET = Budget(1.0, 1e-6)
LENGTHS = (10**4, 10**5, 10**6, 10**7)


def measure(progress: Callable[[float], None]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    ours = {
        "tacit JointLinUCB (batched)": Spec(JointLinUCB, budget=BUDGET),
        "tacit JointLinUCB (tree)": Spec(JointLinUCB, budget=BUDGET, release="tree"),
        "tacit LinUCB": Spec(LinUCB),
    }
    others: dict[str, Callable[[int], float]] = {
        "NumPy loop of JointLinUCB (tree)": numpy_joint_lin_ucb,
        "MABWiser LinUCB, not private": mabwiser,
        "contextualbandits LinUCB, not private": contextualbandits,
    }
    for spec in ours.values():
        _ours(spec, 1000)  # compile
    for step, (name, spec) in enumerate(ours.items()):
        rows.append({"what": name, "rounds": 10**5, "us_per_round": min(_ours(spec, 10**5) for _ in range(3))})
        progress(0.05 * (step + 1))
    for step, (name, loop) in enumerate(others.items()):
        try:
            loop(20)
            rows.append({"what": name, "rounds": 1000, "us_per_round": min(loop(1000) for _ in range(3))})
        except ImportError:
            rows.append({"what": name, "rounds": 0, "us_per_round": None})
        progress(0.15 + 0.05 * (step + 1))
    for step, length in enumerate(LENGTHS):
        for name, spec in list(ours.items())[:2]:
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            us = _ours(spec, length)
            grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
            bandit = spec.build(WORLD, length, SeedSequence(0))
            state = sum(leaf.nbytes for leaf in _arrays(bandit.state))
            rows.append({"what": name, "rounds": length, "us_per_round": us, "state_bytes": state, "grown_mib": grown})
        progress(0.3 + 0.7 * (step + 1) / len(LENGTHS))
    return rows


def render(rows: Sequence[dict[str, Any]]) -> str:
    reference = rows[0]["us_per_round"]
    first = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold")
    first.add_column("choose + observe + environment, d=5 K=25")
    first.add_column("µs / round", justify="right")
    first.add_column("× tacit batched", justify="right")
    second = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold")
    second.add_column("cost and memory against the number of rounds")
    for name in ("rounds", "µs / round", "state, bytes", "process grew by, MiB"):
        second.add_column(name, justify="right")
    for row in rows:
        us = row["us_per_round"]
        if "state_bytes" in row:
            cells = (f"{row['rounds']:,}", f"{us:.2f}", f"{row['state_bytes']:,}", f"{row['grown_mib']:.1f}")
            second.add_row(row["what"], *cells)
        elif us is None:
            first.add_row(row["what"], "not installed: make bench", "–")
        else:
            first.add_row(row["what"], f"{us:.2f}", f"{us / reference:.1f}")
    return to_text(first) + "\n\n" + to_text(second)


def _ours(spec: Spec, rounds: int) -> float:
    return run_once(spec, WORLD, rounds, 0, 0, lambda _: None).us_per_round


def _arrays(state: Any) -> list[Any]:
    return [leaf for part in state for leaf in _arrays(part)] if isinstance(state, tuple) else [state]


def numpy_joint_lin_ucb(rounds: int) -> float:
    """The same algorithm with one NumPy call after another, as one would write it."""
    bandit = JointLinUCB(dim=5, horizon=rounds, budget=BUDGET, release="tree", pending=1)
    rng = default_rng(0)
    levels, dim = rounds.bit_length(), 5
    sigma, shift = bandit.aggregator.sigma, bandit.regularizer.shift
    sub, log_term, log_floor, _offset = bandit.confidence.numbers
    scale = bandit.contribution.scale
    theta_star = rng.standard_normal(dim)
    theta_star /= np.linalg.norm(theta_star)
    exact, noisy = np.zeros((levels, 2, dim, dim)), np.zeros((levels, 2, dim, dim))
    t = 0
    started = time.perf_counter()
    for _ in range(rounds):
        arms = rng.standard_normal((25, dim))
        arms /= np.linalg.norm(arms, axis=1, keepdims=True)
        gram = noisy[:, 0].sum(axis=0) + shift * np.eye(dim)
        moment = noisy[:, 1, 0].sum(axis=0)
        inverse = np.linalg.inv(gram)
        _, logdet = np.linalg.slogdet(gram)
        width = sub * np.sqrt(log_term + max(0.0, logdet - log_floor))
        images = arms @ inverse
        bonus = width * np.sqrt(np.einsum("ad,ad->a", arms, images))
        bonus += bandit.confidence.drift * np.linalg.norm(images, axis=1)
        x = arms[np.argmax(arms @ (inverse @ moment) + bonus)]
        reward = 1.0 if rng.random() < (1 + x @ theta_star) / 2 else -1.0
        t += 1
        level = (t & -t).bit_length() - 1
        node = np.zeros((2, dim, dim))
        node[0], node[1, 0] = np.outer(x, x), reward * x
        node += exact[:level].sum(axis=0)
        exact[:level] = noisy[:level] = 0
        exact[level] = node
        noise = np.triu(rng.standard_normal((dim, dim)) * sigma / np.sqrt(2), 1)
        noisy[level, 0] = node[0] + noise + noise.T + np.diag(rng.standard_normal(dim) * sigma)
        noisy[level, 1, 0] = node[1, 0] + rng.standard_normal(dim) * sigma / scale
    return 1e6 * (time.perf_counter() - started) / rounds


def mabwiser(rounds: int) -> float:
    """One context of 5 numbers a round, 25 arms with a model each: predict, then partial_fit."""
    from mabwiser.mab import MAB, LearningPolicy

    contexts, rng = _contexts(rounds)
    model = MAB(arms=list(range(25)), learning_policy=LearningPolicy.LinUCB(alpha=1.0))
    model.fit(list(range(25)), [0.0] * 25, contexts[:25])
    return _loop(rounds, contexts, rng, model.predict, lambda x, a, r: model.partial_fit([a], [r], x))


def contextualbandits(rounds: int) -> float:
    """The same with contextualbandits."""
    from contextualbandits.online import LinUCB as Theirs

    contexts, rng = _contexts(rounds)
    model = Theirs(nchoices=25, alpha=1.0)
    model.fit(contexts[:25], np.arange(25), np.zeros(25))
    return _loop(
        rounds,
        contexts,
        rng,
        lambda x: int(model.predict(x)[0]),
        lambda x, a, r: model.partial_fit(x, np.array([a]), np.array([r])),
    )


def _contexts(rounds: int) -> tuple[Array, np.random.Generator]:
    rng = default_rng(0)
    return rng.standard_normal((max(rounds, 25), 5)), rng


def _loop(
    rounds: int,
    contexts: Array,
    rng: np.random.Generator,
    predict: Callable[[Array], Any],
    learn: Callable[[Array, Any, float], Any],
) -> float:
    started = time.perf_counter()
    for t in range(rounds):
        x = contexts[t : t + 1]
        arm = predict(x)
        learn(x, arm, float(rng.random() < 0.5))
    return 1e6 * (time.perf_counter() - started) / rounds
