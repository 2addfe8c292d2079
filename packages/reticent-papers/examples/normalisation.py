"""What the normalisation U does to an ill-conditioned cloud: python examples/normalisation.py [FILE]."""

import sys
from pathlib import Path

import numpy as np

from reticent import Budget, Simulated
from reticent_lab.experiments import figure
from reticent_papers.regression import ReweightedLinear

rng = np.random.default_rng(0)
angles = rng.uniform(0, 2 * np.pi, 20_000)
cloud = np.stack([np.cos(angles), 0.1 * np.sin(angles)], axis=1) * np.sqrt(rng.random((20_000, 1)))
targets = np.where(rng.random(20_000) < 0.5 * (1 + cloud @ [0.6, 0.8]), 1.0, -1.0)
fitted = ReweightedLinear(budget=Budget(1.0, 1e-6), source=Simulated(1)).fit(cloud, targets)

shown = cloud[:1200]
turned = shown @ fitted.normalisation_.matrix
canvas, axes = figure.subplots(1, 3, width=3.6, height=3.6)
panels = [
    ("covariates φ", shown, 1.15),
    ("U φ, U learnt with ε = 1", turned, None),
    ("U φ / |U φ|: what regression weighs", turned / np.linalg.norm(turned, axis=1, keepdims=True), 1.15),
]
for axis, (title, points, limit) in zip(axes[0], panels, strict=True):
    axis.plot(points[:, 0], points[:, 1], ".", markersize=2, color=figure.COLOURS[0])
    reach = limit or 1.05 * float(np.abs(points).max())
    axis.set(title=title, xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
path = Path(sys.argv[1] if len(sys.argv) > 1 else "normalisation.png")
figure.save(canvas, path)
