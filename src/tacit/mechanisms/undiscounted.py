"""Sums of all people so far from releases of discounted ones: post-processing, exact where every leaf is in the window.

A mechanism releases R = P x + B z at each step: P has the coefficients f^k, f the discount, and B those by which its
own noise state mixes fresh noise. With L the shift by one step, P = (1 - f L)^-1, so the sum of all leaves so far is

    S = (1 - L)^-1 x = (1 - L)^-1 (1 - f L) R - noise,     S_t = S_{t-1} + R_t - f R_{t-1},

and its noise is (1 - L)^-1 (1 - f L) B z: with b the first column of B, g_k = sum_{j <= k} (b_j - f b_{j-1}). All of
this is public, and the covariance of the noise at two releases is sigma^2 sum_k g_k g_{k+lag}."""

import dataclasses
import functools
from typing import Any

import numpy as np

from tacit.data import Array, Released
from tacit.kernels.continual import noise_step
from tacit.mechanisms.continual import Continual
from tacit.privacy.noise import Simulated


@functools.lru_cache(maxsize=16)
def gains(mechanism: Continual) -> Array:
    """g, for all leaves of the mechanism: the response of its own noise state to one unit of noise."""
    state, fading = _of_one_number(mechanism).noise_state(Simulated(0)), mechanism.fading
    mixed, out = np.zeros(mechanism.leaves), np.zeros(1)
    for k in range(mechanism.leaves):
        noise_step(state, np.full((1, 1), float(k == 0)), out)
        mixed[k] = out[0]
    made: Array = np.cumsum(mixed - fading * np.concatenate([[0.0], mixed[:-1]]))
    made.setflags(write=False)
    return made


def totals(released: list[Released], fading: float) -> Array:
    """S at each release, from all of them."""
    found = np.array(released)
    before = np.concatenate([np.zeros_like(found[:1]), found[:-1]])
    out: Array = np.cumsum(found - fading * before, axis=0)
    return out


def _of_one_number(mechanism: Continual) -> Continual:
    real: Any = getattr(mechanism, "real", None)
    inner = {} if real is None else {"real": dataclasses.replace(real, size=1)}
    return dataclasses.replace(mechanism, size=1, **inner)
