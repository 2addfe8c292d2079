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

from reticent import Bandit, JointGLM, LinUCB
from reticent.data import Array
from reticent.environments import sphere
from reticent.experiments.runner import run_once
from reticent.experiments.spec import Spec
from reticent.experiments.table import to_text
from reticent.mechanisms.opening import opened
from reticent.mechanisms.saving import arrays
from reticent.privacy.budget import Budget
from reticent.privacy.noise import Simulated
from reticent_papers import ShariffLinUCB

WORLD = sphere(dim=5, arms=25)
BUDGET = Budget(1.0, 1e-6)
LENGTHS = (10**4, 10**5, 10**6, 10**7)


def measure(progress: Callable[[float], None]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    ours = {
        "reticent ShariffLinUCB, batched": Spec(ShariffLinUCB, release="batched", budget=BUDGET),
        "reticent LinUCB": Spec(LinUCB),
        "reticent JointGLM": Spec(JointGLM, budget=BUDGET),
    }
    others: dict[str, Callable[[int], float]] = {
        "NumPy loop of ShariffLinUCB, batched": numpy_lin_ucb,
        "NumPy loop of MLE-UCB (logistic), not private": numpy_mle_ucb,
        "MABWiser LinUCB, not private": mabwiser,
        "contextualbandits LinUCB, not private": contextualbandits,
    }
    for spec in ours.values():
        _ours(spec, 1000)  # compile
    for step, (name, spec) in enumerate(ours.items()):
        rows.append({"what": name, "rounds": 10**5, "us_per_round": min(_ours(spec, 10**5) for _ in range(3))})
        progress(0.05 * (step + 1))
    for name, spec in ours.items():
        rows.append({"what": f"{name}, without the environment", "rounds": 10**5, "us_per_round": _alone(spec)})
    rows.append(
        {"what": "reticent JointGLM, served: choose, then observe, K=7", "rounds": 4000, "us_per_round": _served()}
    )
    for step, (name, loop) in enumerate(others.items()):
        try:
            loop(20)
            rows.append({"what": name, "rounds": 1000, "us_per_round": min(loop(1000) for _ in range(3))})
        except ImportError:
            rows.append({"what": name, "rounds": 0, "us_per_round": None})
        progress(0.15 + 0.05 * (step + 1))
    for step, length in enumerate(LENGTHS):
        for name, spec in list(ours.items())[:1]:
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            us = _ours(spec, length)
            grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
            bandit = spec.build(WORLD, length, SeedSequence(0))
            learner = bandit.sums if isinstance(bandit, Bandit) else bandit
            state = sum(leaf.nbytes for leaf in arrays(learner.state))
            rows.append({"what": name, "rounds": length, "us_per_round": us, "state_bytes": state, "grown_mib": grown})
        progress(0.3 + 0.7 * (step + 1) / len(LENGTHS))
    return rows


def render(rows: Sequence[dict[str, Any]]) -> str:
    reference = rows[0]["us_per_round"]
    first = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold")
    first.add_column("choose + observe + environment, d=5 K=25")
    first.add_column("µs / round", justify="right")
    first.add_column("× ShariffLinUCB", justify="right")
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


def _alone(spec: Spec) -> float:
    """choose + observe + noise for blocks that are there already: the best of many, once the bandit has learnt."""
    bandit = spec.build(WORLD, 10**6, SeedSequence(0))
    block = WORLD.block(500)
    WORLD.start(default_rng(0), 10**6).fill(block)
    times = []
    for _ in range(400):
        started = time.perf_counter()
        bandit.play(block)
        times.append(1e6 * (time.perf_counter() - started) / 500)
    return min(times[100:])


def _served(rounds: int = 4000) -> float:
    """CPU time of one choice and its reward through Python, with secure noise, at d = 5 and K = 7."""
    bandit = Bandit(JointGLM(5, BUDGET))
    arms = default_rng(0).uniform(-0.4, 0.4, (7, 5))
    best = np.inf
    for _ in range(4):  # the first one compiles
        start = time.process_time()
        for _ in range(rounds):
            bandit.observe(bandit.choose(arms), 1.0)
        best = min(best, (time.process_time() - start) / rounds * 1e6)
    return best


def numpy_lin_ucb(rounds: int) -> float:
    """The same algorithm with one NumPy call after another, as one would write it."""
    settings = {"dim": 5, "horizon": rounds, "pending": 1, "release": "batched"}
    bandit = ShariffLinUCB(budget=BUDGET, source=Simulated(), **settings)  # type: ignore[arg-type]
    rng = default_rng(0)
    dim, shift, scale = 5, bandit.regularizer.shift, bandit.contribution.scale
    sub, log_term, log_floor, _offset = bandit.confidence.width
    theta_star = rng.standard_normal(dim)
    theta_star /= np.linalg.norm(theta_star)
    table = opened(bandit._state.prefix).noise.table
    gram, moment = np.zeros((dim, dim)), np.zeros(dim)
    V, theta, boundary, step = shift * np.eye(dim), np.zeros(dim), int(bandit._state.counts[1]), 0
    inverse = np.linalg.inv(V)
    started = time.perf_counter()
    for t in range(rounds):
        if t >= boundary:
            step += 1
            noise = _symmetric(table[step - 1], scale)
            boundary = max(t + 15, int(t * 1.1))
            V = gram + noise[0] + shift * np.eye(dim)
            inverse = np.linalg.inv(V)
            theta = inverse @ (moment + noise[1])
        arms = rng.standard_normal((25, dim))
        arms /= np.linalg.norm(arms, axis=1, keepdims=True)
        width = sub * np.sqrt(log_term + max(0.0, np.linalg.slogdet(V)[1] - log_floor))
        images = arms @ inverse
        bonus = width * np.sqrt(np.einsum("ad,ad->a", arms, images))
        bonus += bandit.confidence.drift * np.linalg.norm(images, axis=1)
        x = arms[np.argmax(arms @ theta + bonus)]
        reward = 1.0 if rng.random() < (1 + x @ theta_star) / 2 else -1.0
        gram += np.outer(x, x)
        moment += reward * x
    return 1e6 * (time.perf_counter() - started) / rounds


def numpy_mle_ucb(rounds: int) -> float:
    """Logistic rewards, the estimate by Newton's method over all data whenever they have grown by a tenth."""
    rng = default_rng(0)
    dim = 5
    theta_star = 3 * rng.standard_normal(dim) / np.sqrt(dim)
    theta: Array = np.zeros(dim)
    hessian: Array = np.eye(dim)
    inverse: Any = np.eye(dim)
    rows, rewards, refit = np.zeros((rounds, dim)), np.zeros(rounds), 10
    started = time.perf_counter()
    for t in range(rounds):
        if t >= refit:
            refit = max(t + 1, int(1.1 * t))
            for _ in range(20):
                means = 1 / (1 + np.exp(-rows[:t] @ theta))
                gradient = rows[:t].T @ (means - rewards[:t]) + theta
                hessian = (rows[:t].T * (means * (1 - means))) @ rows[:t] + np.eye(dim)
                step = np.linalg.solve(hessian, gradient)
                theta = theta - step
                if np.abs(step).max() < 1e-6:
                    break
            inverse = np.linalg.inv(hessian)
        arms = rng.standard_normal((25, dim))
        arms /= np.linalg.norm(arms, axis=1, keepdims=True)
        bonus = np.sqrt(np.einsum("ad,ad->a", arms @ inverse, arms))
        x = arms[np.argmax(arms @ theta + bonus)]
        rows[t], rewards[t] = x, rng.random() < 1 / (1 + np.exp(-x @ theta_star))
        mean = 1 / (1 + np.exp(-x @ theta))
        hessian = hessian + mean * (1 - mean) * np.outer(x, x)
        inverse = np.linalg.inv(hessian)
    return 1e6 * (time.perf_counter() - started) / rounds


def _symmetric(noise: Array, scale: float) -> tuple[Array, Array]:
    """Noise in svec coordinates as a symmetric matrix and a vector."""
    upper = np.zeros((5, 5))
    upper[np.triu_indices(5)] = noise[:15] / np.sqrt(2)
    return upper + upper.T - np.diag(np.diag(upper)) * (2 - np.sqrt(2)), noise[15:] / scale


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
