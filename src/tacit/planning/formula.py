"""The share of the attainable reward, as a formula with a few fitted numbers.

In a world whose arms lie alike in all directions, a bandit that plays by an estimate at an angle phi from theta* gets
about cos phi of what could be had: that is what 1 / sqrt(1 + rho) is, rho = (what the estimate is off)^2 / (what it
has learnt)^2. Two things put it off: the chance in people's rewards, and the noise that hides them. With t the rounds
so far, of which b had been released, and e the noise's standard deviation,
    rho = A t^-a + B (e / b)^c              (joint, shuffle: each release has noise of its own)
    rho = A t^-a + B ((1 + e^2) / b)^c      (local: each report has)
    share at t = (1 + rho^q)^(-1 / (2 q)),  0 before anything was released
and that of the rounds from n / 2 to n is the mean over them. log A, log B, a, c and log q are sums of products of the
logarithms of dimension d, arms k, radius r and, for local, e; FORMS has which. a and c are positive: more people never
make it smaller, nor does a larger epsilon in joint and shuffle, where e is in one place (a test sees to local)."""

from typing import NamedTuple

import numpy as np

from tacit.data import Array

QUADRATIC = ("1", "d", "k", "r", "dd", "dk", "dr", "kk", "kr", "rr")
POINTS = 48  # of the mean over rounds
LEAST = 0.1  # of the exponents
GROWTH = {"joint": 1.03, "shuffle": 1.5, "local": 1.05}  # of what is released from one time to the next


class Products(NamedTuple):
    """Which products each of the five has, as letters."""

    log_a: tuple[str, ...]
    log_b: tuple[str, ...]
    a: tuple[str, ...]
    c: tuple[str, ...]
    log_q: tuple[str, ...]


FEW = ("1", "d", "r")
BASE = Products(QUADRATIC, QUADRATIC, FEW, FEW, FEW)
NOISE = ("e", "ee", "de", "ke", "re")
WITH_NOISE = Products(QUADRATIC, (*QUADRATIC, *NOISE), (*FEW, "k"), (*FEW, "k", "e"), (*FEW, "k", "e"))
FORMS = {"joint": BASE, "shuffle": BASE, "local": WITH_NOISE}


class Sizes(NamedTuple):
    """Of settings, an array each. std: of the noise. first: users of the shortest step. random: those who get random
    arms at the start."""

    dim: Array
    arms: Array
    radius: Array
    std: Array
    first: Array
    random: Array


def parts(model: str, fitted: Array, sizes: Sizes) -> list[Array]:
    """log A, log B, a, c and log q for each setting."""
    logs = {
        "d": np.log(sizes.dim / 10) / 2,
        "k": np.log(sizes.arms / 10) / 2,
        "r": np.log(sizes.radius / 3),
        "e": np.log(sizes.std / 5) / 2,
        "1": np.ones(len(sizes.dim)),
    }
    out, rest = [], fitted
    for terms in FORMS[model]:
        columns = np.stack([np.prod([logs[letter] for letter in term], axis=0) for term in terms], axis=1)
        out.append(columns @ rest[: len(terms)])
        rest = rest[len(terms) :]
    return out


def released(model: str, sizes: Sizes, t: Array) -> Array:
    """Rounds that the estimate of round t (n, m) was made from: those of all closed steps. Steps of the shuffle model
    grow by half from one to the next; elsewhere they are `first` rounds long until some per cent of t are more."""
    first, growth = sizes.first[:, None], GROWTH[model]
    u = t / first
    if model == "shuffle":
        closed = np.floor(np.log1p((growth - 1) * u) / np.log(growth) + 1e-9)
        b = (growth**closed - 1) / (growth - 1)
    else:
        b = np.where(u < 1 / (growth - 1), np.floor(u), u)
    return np.where(t >= sizes.random[:, None], first * b, 0.0)


def shares(model: str, fitted: Array, sizes: Sizes, rounds: Array) -> Array:
    """The share of rounds n / 2 to n, for each setting and its number of rounds n."""
    log_a, log_b, a, c, log_q = (part[:, None] for part in parts(model, fitted, sizes))
    t = rounds[:, None] * (0.5 + (np.arange(POINTS) + 0.5) / POINTS / 2)
    b, e, q = released(model, sizes, t), sizes.std[:, None], np.exp(log_q)
    with np.errstate(divide="ignore"):
        noise = np.log((1 + e * e) / b) if model == "local" else np.log(e / b)
    log_rho = np.logaddexp(log_a - np.maximum(a, LEAST) * np.log(t), log_b + np.maximum(c, LEAST) * noise)
    return np.asarray(np.exp(-np.logaddexp(0.0, q * log_rho) / (2 * q)).mean(axis=1))
