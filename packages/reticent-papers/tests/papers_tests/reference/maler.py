"""Algorithms 5 to 8, slow and obvious: every expert an object, projections by a general solver."""

import math

import numpy as np
from scipy.optimize import minimize_scalar


def project(point, sigma, radius):
    """argmin |p - point|_sigma over |p| <= radius, by the multiplier of the constraint, found by a scalar search."""
    if np.linalg.norm(point) <= radius:
        return point

    def at(log):
        return np.linalg.solve(sigma + math.exp(log) * np.eye(len(point)), sigma @ point)

    found = minimize_scalar(
        lambda log: (np.linalg.norm(at(log)) - radius) ** 2,
        bounds=(-40, 40),
        method="bounded",
        options={"xatol": 1e-12, "maxiter": 2000},
    )
    return at(found.x)


class Maler:
    def __init__(self, dim, horizon, radius, clip):
        self.D, self.G, self.radius = 2 * radius, clip, radius
        top = math.ceil(math.log2(horizon) / 2)
        self.etas = [2.0**-i / (5 * self.G * self.D) for i in range(top + 1)]
        self.convex = 1 / (2 * self.G * self.D * math.sqrt(horizon))
        C = 1 + 1 / (1 + top)
        prior = [C / (3 * (i + 1) * (i + 2)) for i in range(top + 1)]
        self.weights = {"c": 1 / 3} | {(k, i): prior[i] for i in range(top + 1) for k in "sl"}
        self.points = {name: np.zeros(dim) for name in self.weights}
        self.sigma = {i: np.eye(dim) / self.D**2 for i in range(top + 1)}  # 1 / (4 alpha^2 D^2), alpha = 1/2
        self.t, self.theta = 0, np.zeros(dim)

    def rate(self, name):
        return self.convex if name == "c" else self.etas[name[1]]

    def step(self, g):
        self.t += 1
        g = g * min(1, self.G / np.linalg.norm(g))
        eye = np.eye(len(g))
        for name, p in list(self.points.items()):
            eta, r = self.rate(name), (self.theta - p) @ g
            if name == "c":
                loss = -eta * r + (eta * self.G * self.D) ** 2
                new = project(p - self.D / (self.G * math.sqrt(self.t)) * g, eye, self.radius)
            elif name[0] == "s":
                loss = -eta * r + (eta * self.G) ** 2 * np.sum((self.theta - p) ** 2)
                slope = eta * g - 2 * (eta * self.G) ** 2 * (self.theta - p)
                new = project(p - slope / (2 * (eta * self.G) ** 2 * self.t), eye, self.radius)
            else:
                loss, slope = -eta * r + (eta * r) ** 2, eta * g - 2 * eta**2 * r * g
                sigma = self.sigma[name[1]]
                sigma += np.outer(slope, slope)
                new = project(p - 2 * np.linalg.solve(sigma, slope), sigma, self.radius)
            self.weights[name] *= math.exp(-loss)
            self.points[name] = new
        total = sum(self.weights.values())
        self.weights = {name: w / total for name, w in self.weights.items()}
        shares = {name: w * self.rate(name) for name, w in self.weights.items()}
        self.theta = sum(s * self.points[name] for name, s in shares.items()) / sum(shares.values())
