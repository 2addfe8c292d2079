"""tacit learns what to offer to whom, without learning anything about anyone.

The path of one datum, along which the package is laid out:

    arms -> policy -> reward -> contribution -> aggregator -> statistics -> estimator -> policy
            (chooses)           (bounded, RAW)  (adds noise)  (RELEASED)    (post-processing)

Estimators and policies see only released statistics: the privacy argument can be read off the imports.
Names are loaded when they are first used, so that a device can import its own small part alone.
"""

import difflib
import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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
        Embedded,
        JointGLM,
        JointGLMRare,
        JointLinUCB,
        JointReweighted,
        JointSquareCB,
        LinUCB,
        LocalAnytimeUCB,
        LocalCombiner,
        LocalGLM,
        LocalIRLS,
        LocalLinUCB,
        LocalOnlineUCB,
        LocalReweighted,
        LocalSquareCB,
        LogisticTS,
        RSGLinUCB,
        ShuffleGLM,
        ShuffleLinUCB,
        ShuffleNewton,
        Uniform,
    )
    from tacit.experiments import Result, Spec, simulate
    from tacit.privacy.budget import Budget
    from tacit.privacy.certificate import Certificate
    from tacit.privacy.noise import Secure, Simulated
    from tacit.roles.shuffler import Shuffler

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
    "Embedded",
    "JointGLM",
    "JointGLMRare",
    "JointLinUCB",
    "JointReweighted",
    "JointSquareCB",
    "LinUCB",
    "LocalAnytimeUCB",
    "LocalCombiner",
    "LocalGLM",
    "LocalIRLS",
    "LocalLinUCB",
    "LocalOnlineUCB",
    "LocalReweighted",
    "LocalSquareCB",
    "LogisticTS",
    "RSGLinUCB",
    "Result",
    "Secure",
    "ShuffleGLM",
    "ShuffleLinUCB",
    "ShuffleNewton",
    "Shuffler",
    "Simulated",
    "Spec",
    "Uniform",
    "environments",
    "simulate",
]

HOMES = (
    "tacit.bandits",
    "tacit.privacy.budget",
    "tacit.privacy.certificate",
    "tacit.privacy.noise",
    "tacit.experiments",
    "tacit.roles.shuffler",
)


def __getattr__(name: str) -> Any:
    if name in __all__:
        if name == "environments":
            return importlib.import_module("tacit.environments")
        for home in map(importlib.import_module, HOMES):
            if name in vars(home):
                return vars(home)[name]
    near = difflib.get_close_matches(name, __all__)
    raise AttributeError(
        f"Expected a name in tacit, got {name!r}." + f" Did you mean {' or '.join(near)}?" * bool(near)
    )


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
