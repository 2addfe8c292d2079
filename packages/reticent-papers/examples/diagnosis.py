"""Private logistic regression on people's data: python examples/diagnosis.py [SPLITS]. Needs scikit-learn.

scikit-learn's breast-cancer data: 569 people, benign or malignant. Public, in round numbers that were not computed from
these rows: which four measurements are used, the range that each is clipped to, the radius, and that 400 people are
learnt from. Whatever else a model knows went through its noise: nothing is standardised by the data's own means."""

import math
import sys

import numpy as np
from sklearn.datasets import load_breast_cancer

from reticent import Budget, Simulated
from reticent_papers.regression import OutputPerturbation, PrivateNewton, ReweightedGLM

RANGES = {"mean radius": (5, 30), "mean texture": (5, 40), "mean smoothness": (0, 0.2), "mean concave points": (0, 0.2)}
RADIUS = 10.0  # of theta
LEARNT = 400
KINDS = ReweightedGLM, PrivateNewton, OutputPerturbation


def rows() -> tuple[np.ndarray, np.ndarray]:
    """Each measurement from -1 to 1, a constant, and all of it divided by sqrt 5: norm at most 1."""
    data = load_breast_cancer()
    columns = [np.ones(len(data.target))]
    for name, (low, high) in RANGES.items():
        values = data.data[:, list(data.feature_names).index(name)]
        columns.append(2 * (np.clip(values, low, high) - low) / (high - low) - 1)
    return np.stack(columns, axis=1) / math.sqrt(len(columns)), data.target.astype(float)


def share_right(kind: type, epsilon: float, split: int) -> float:
    """Of the people who were not learnt from."""
    x, y = rows()
    order = np.random.default_rng([7, split]).permutation(len(y))
    learnt, judged = order[:LEARNT], order[LEARNT:]
    model = kind(budget=Budget(epsilon, 1e-5), radius=RADIUS, source=Simulated(split)).fit(x[learnt], y[learnt])
    return float(np.mean((model.predict(x[judged]) > 0.5) == (y[judged] > 0.5)))


def main(splits: int) -> None:
    print(f"{'share classified rightly':<26}" + "".join(f"{f'ε = {e:g}':>16}" for e in (1.0, 4.0, math.inf)))
    for kind in KINDS:
        cells = []
        for epsilon in (1.0, 4.0, math.inf):
            shares = [share_right(kind, epsilon, split) for split in range(splits)]
            error = np.std(shares, ddof=1) / math.sqrt(splits)
            cells.append(f"{np.mean(shares):.3f} ± {error:.3f}")
        print(f"{kind.__name__:<26}" + "".join(f"{cell:>16}" for cell in cells))
    print(f"{'always benign':<26}{np.mean(rows()[1]):>8.3f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 15)
