"""Slow, obvious versions of the steps of the rarely switching bandit."""

import numpy as np
from scipy.special import expit
from scipy.stats import norm

from core_tests.reference.linear import svec

MEANS = {"logistic": expit, "probit": norm.cdf}
SLOPES = {"logistic": lambda z: expit(z) * expit(-z), "probit": norm.pdf}


def design(x, explored, theta_o, link, slope):
    x = x / max(1.0, np.linalg.norm(x))
    outer, nothing = svec(np.outer(x, x)), np.zeros(len(x) * (len(x) + 1) // 2)
    if explored:
        return np.concatenate([outer, nothing])
    return np.concatenate([nothing, min(SLOPES[link](x @ theta_o), slope) / slope * outer])


def choice(arms, V, theta_o, H_tau, theta_tau, explore, width):
    """(index, explored) by Criterion I, elimination (14)-(15) and UCB (16)."""
    far = np.sqrt(np.einsum("ki,ij,kj->k", arms, np.linalg.inv(V), arms))
    if far.max() ** 2 >= 1 / explore**2:
        return int(far.argmax()), True
    middle = arms @ theta_o
    left = middle + explore * far >= (middle - explore * far).max()
    ucb = arms @ theta_tau + width * np.sqrt(np.einsum("ki,ij,kj->k", arms, np.linalg.inv(H_tau), arms))
    return int(np.where(left, ucb, -np.inf).argmax()), False


def raised(matrix, ridge):
    values, axes = np.linalg.eigh(matrix)
    return axes @ np.diag(np.maximum(values + ridge, ridge / 2)) @ axes.T


def gradient(x, r, theta, link):
    return x.T @ (MEANS[link](x @ theta) - r)


def ball(theta, radius):
    return theta * min(1.0, radius / np.linalg.norm(theta)) if theta.any() else theta


def ellipsoid(theta, centre, V, radius):
    """Nearest point by a fine search over the multiplier."""
    if (theta - centre) @ V @ (theta - centre) <= radius**2:
        return theta

    def point(m):
        return centre + np.linalg.solve(np.eye(len(V)) + m * V, theta - centre)

    low, high = 0.0, 1.0
    while (point(high) - centre) @ V @ (point(high) - centre) > radius**2:
        high *= 2
    for _ in range(200):
        m = (low + high) / 2
        inside = (point(m) - centre) @ V @ (point(m) - centre) <= radius**2
        low, high = (low, m) if inside else (m, high)
    return point(high)


def descend(x, r, start, noise, link, rate, shrink, projections):
    theta, iterates = start, []
    for z in noise:
        theta = theta - rate * (gradient(x, r, theta, link) + shrink * theta + z)
        for project in projections:
            theta = project(theta)
        iterates.append(theta)
    return np.mean(iterates, axis=0)
