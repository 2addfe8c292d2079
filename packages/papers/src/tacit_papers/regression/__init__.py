"""Private regression on its own, by scikit-learn's conventions: fit(X, y), predict, predict_interval, privacy."""

from tacit_papers.regression.glm import ReweightedGLM
from tacit_papers.regression.linear import ReweightedLinear
from tacit_papers.regression.newton import PrivateNewton
from tacit_papers.regression.output import OutputPerturbation
from tacit_papers.regression.ridge import PrivateRidge
from tacit_papers.regression.sgd import ImproperSGD

__all__ = [
    "ImproperSGD",
    "OutputPerturbation",
    "PrivateNewton",
    "PrivateRidge",
    "ReweightedGLM",
    "ReweightedLinear",
]
