"""Algorithm 2 of Sarmasarkar 2026, arXiv:2602.00417, as printed: its trees, its numbers, and what they do not keep.

See glm_rare_theory for the formulas, and glm_rare_descent_kernel for its descent."""

import math
from typing import Any

from reticent.privacy import gaussian
from reticent.privacy.budget import Budget
from reticent_lab.mechanisms.tree import Tree
from reticent_papers.joint.glm_rare_model import DesignContribution
from reticent_papers.joint.glm_rare_theory import Theory

LEAK = (
    "Not private: timing leak. theta_o is recomputed exactly in the rounds whose raw contexts asked for exploration, "
    "and Criterion II is tested only in the others, so that replacing one user changes when estimates change. "
    "timing='strict' is the private variant."
)

PRINTED = (
    " Nor are the paper's constants calibrated to what is released: the number of users in T_o, which is raw, sets the "
    "length and the noise of the descent. The tree for V alone has epsilon {:.3g} at delta / 3, where epsilon / 3 = "
    "{:.3g} is claimed for V and H."
)


def tree(theory: Theory, size: int) -> Tree:
    """Of V and H stacked, without noise: m levels."""
    return Tree(leaves=1 << (theory.levels - 1), size=size, sigma=0.0)


def numbers(theory: Theory, horizon: int) -> dict[str, Any]:
    """What the rule of the bandit has from the theorems; zeta of the descent is 1 / T^6 (Lemma J.6)."""
    return {
        "printed": True,
        "explore": theory.explore,
        "width": theory.width,
        "ridge": theory.ridge,
        "ridge_hessian": theory.ridge,
        "slope": math.e,  # H is the sum of mu' / e x x'
        "shrink_o": theory.ridge_max,
        "shrink_tau": theory.ridge_max,
        "step": 1.0,
        "most_o": math.ceil(min(theory.most_o, 2.0**62)),
        "most_tau": math.ceil(theory.most_tau),
        "pace": 0.0,
        "cell": 0.0,
        "rho_o": theory.rho_o,
        "rho_tau": theory.rho_tau,
        "log_failure": 6 * math.log(horizon),
    }


def caveat(theory: Theory, contribution: DesignContribution, budget: Budget) -> str:
    """Why there is no certificate, and what the tree alone costs."""
    mu = math.sqrt(theory.levels) * contribution.sensitivity / theory.sigma_noise
    return LEAK + PRINTED.format(gaussian.epsilon(mu, budget.delta / 3), budget.epsilon / 3)
