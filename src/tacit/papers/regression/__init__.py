"""Private regression on its own, by scikit-learn's conventions: fit(X, y), predict, predict_interval, privacy."""

from tacit.papers.regression.glm import ReweightedGLM
from tacit.papers.regression.linear import ReweightedLinear
from tacit.papers.regression.newton import PrivateNewton
from tacit.papers.regression.output import OutputPerturbation
from tacit.papers.regression.ridge import PrivateRidge
from tacit.papers.regression.sgd import ImproperSGD

__all__ = [
    "ImproperSGD",
    "OutputPerturbation",
    "PrivateNewton",
    "PrivateRidge",
    "ReweightedGLM",
    "ReweightedLinear",
]
