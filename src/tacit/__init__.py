"""tacit learns what to offer to whom, without learning anything about anyone.

The path of one datum, along which the package is laid out:

    arms -> policy -> reward -> contribution -> aggregator -> statistics -> estimator -> policy
            (chooses)           (bounded, RAW)  (adds noise)  (RELEASED)    (post-processing)

Estimators and policies see only released statistics: the privacy argument can be read off the imports.
"""

from tacit import environments
from tacit.bandits import (
    GLMUCB,
    GLOC,
    MLEUCB,
    Anytime,
    BGLinCB,
    Choice,
    Choices,
    ECOLog,
    JointGLM,
    JointGLMRare,
    JointLinUCB,
    JointReweighted,
    JointSquareCB,
    LinUCB,
    LocalReweighted,
    LocalSquareCB,
    LogisticTS,
    RSGLinUCB,
    Uniform,
)
from tacit.experiments import Result, Spec, simulate
from tacit.privacy.budget import Budget
from tacit.privacy.certificate import Certificate
from tacit.privacy.noise import Simulated

__version__ = "0.1.0"

__all__ = [
    "GLMUCB",
    "GLOC",
    "MLEUCB",
    "Anytime",
    "BGLinCB",
    "Budget",
    "Certificate",
    "Choice",
    "Choices",
    "ECOLog",
    "JointGLM",
    "JointGLMRare",
    "JointLinUCB",
    "JointReweighted",
    "JointSquareCB",
    "LinUCB",
    "LocalReweighted",
    "LocalSquareCB",
    "LogisticTS",
    "RSGLinUCB",
    "Result",
    "Simulated",
    "Spec",
    "Uniform",
    "environments",
    "simulate",
]
