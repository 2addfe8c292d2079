"""Private regression on its own, by scikit-learn's conventions: fit(X, y), predict, predict_interval, privacy."""

from reticent_papers.regression.glm import ReweightedGLM
from reticent_papers.regression.linear import ReweightedLinear
from reticent_papers.regression.newton import PrivateNewton
from reticent_papers.regression.output import OutputPerturbation
from reticent_papers.regression.ridge import PrivateRidge
from reticent_papers.regression.sgd import ImproperSGD

__all__ = [
    "ImproperSGD",
    "OutputPerturbation",
    "PrivateNewton",
    "PrivateRidge",
    "ReweightedGLM",
    "ReweightedLinear",
]
