"""Private regression on its own, by scikit-learn's conventions: fit(X, y), predict, predict_interval, privacy."""

from tacit.regression.glm import ReweightedGLM
from tacit.regression.linear import ReweightedLinear
from tacit.regression.newton import PrivateNewton
from tacit.regression.output import OutputPerturbation
from tacit.regression.ridge import PrivateRidge
from tacit.regression.sgd import ImproperSGD

__all__ = [
    "ImproperSGD",
    "OutputPerturbation",
    "PrivateNewton",
    "PrivateRidge",
    "ReweightedGLM",
    "ReweightedLinear",
]
