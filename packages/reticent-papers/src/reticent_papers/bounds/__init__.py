"""Bounds on regret, as plain functions: what theory promises and what it forbids. One file a paper.

Where a paper states its constants they are in the formula; where it has an O, the function takes `constant`, and says
what else is hidden. `drawn` has them by name for pictures, `rates` their orders in one table."""

from reticent_papers.bounds.chen import (
    dimension_free_rounds,
    joint_reweighted,
    joint_reweighted_linear,
    linear_lower,
    local_reweighted,
    regression_lower,
    square_cb,
)
from reticent_papers.bounds.improved import local_anytime_ucb, local_combiner, local_online_ucb, local_online_ucb_rate
from reticent_papers.bounds.sarmasarkar import (
    glm_lower,
    joint_glm_rare,
    joint_glm_rare_rate,
    shuffle_glm,
    shuffle_glm_rate,
)
from reticent_papers.bounds.shariff import linear_ucb, private_arms_lower

__all__ = [
    "dimension_free_rounds",
    "glm_lower",
    "joint_glm_rare",
    "joint_glm_rare_rate",
    "joint_reweighted",
    "joint_reweighted_linear",
    "linear_lower",
    "linear_ucb",
    "local_anytime_ucb",
    "local_combiner",
    "local_online_ucb",
    "local_online_ucb_rate",
    "local_reweighted",
    "private_arms_lower",
    "regression_lower",
    "shuffle_glm",
    "shuffle_glm_rate",
    "square_cb",
]
