"""tacit learns what to offer to whom, while what it shows would be nearly the same whatever any one person's data were.

The path of one datum, along which the package is laid out:

    request -> arms -> choice -> reward -> contribution -> mechanism -> released -> estimate -> choice
                      (shown)             (bounded, RAW)   (adds noise)  (public)    (post-processing)

Only a mechanism opens Raw and turns it into Released, and everything that is shown is a function of Released, of the
asking user's own request and of fresh randomness: a closed class, types, layers and replay tests hold the code to it
(docs/privacy.md).

    model/        what is public about the problem: arms, links, contributions with their sensitivities
    kernels/      compiled maths that several algorithms share
    privacy/      budget, curves, ledger, certificate, sources of noise
    mechanisms/   the only code that opens Raw and turns it into Released
    algorithms/   from what was released to an estimate, and from an estimate to a choice: pure functions
    models/       what is learnt: what a person adds to the sums, and the estimate that follows; one file each
    core/ joint experiment flat: the curator's rules, a bandit in memory, and the settings that it is made of
    roles/        what lies between a person and a server: device, shuffler, wire
    features/ logs planning/: from fields and logs to a decision, and how many people it takes
    bandits/      shuffle/ local/ references/: an algorithm is one file, its kernel beside it
    holders/      a bandit on a database: rows, keys, releases and what witnesses them
    environments/ experiments/ cli/ testing/

Names are loaded when they are first used, so that a device can import its own small part alone.
"""

import importlib
import sys
from typing import TYPE_CHECKING, Any

if sys.version_info < (3, 11):  # noqa: UP036  # from a checkout; pip knows it from pyproject.toml
    raise ImportError(f"Expected Python 3.11 or later for tacit, got {sys.version_info[0]}.{sys.version_info[1]}.")

from tacit import registry

if TYPE_CHECKING:
    from tacit import environments as environments
    from tacit.algorithms.prior import WarmStart as WarmStart
    from tacit.bandits.embedded import Embedded as Embedded
    from tacit.bandits.local.irls import LocalIRLS as LocalIRLS
    from tacit.bandits.references.lin_ucb import LinUCB as LinUCB
    from tacit.bandits.references.uniform import Uniform as Uniform
    from tacit.bandits.server import Server as Server
    from tacit.bandits.shuffle.newton import ShuffleNewton as ShuffleNewton
    from tacit.core.bandit import Bandit as Bandit
    from tacit.core.choices import Choice as Choice
    from tacit.core.choices import Choices as Choices
    from tacit.core.reward import Reward as Reward
    from tacit.experiment import Experiment as Experiment
    from tacit.experiments.result import Result as Result
    from tacit.experiments.runner import simulate as simulate
    from tacit.experiments.spec import Spec as Spec
    from tacit.features.columns import Category as Category
    from tacit.features.columns import Hashed as Hashed
    from tacit.features.columns import Number as Number
    from tacit.features.columns import Tags as Tags
    from tacit.features.schema import Schema as Schema
    from tacit.holders.moving import move as move
    from tacit.holders.requests import StoredChoice as StoredChoice
    from tacit.holders.restoring import restore as restore
    from tacit.holders.retirement import retire as retire
    from tacit.holders.stored import Stored as Stored
    from tacit.joint import JointGLM as JointGLM
    from tacit.model.holdout import Holdout as Holdout
    from tacit.models.choose import Variant as Variant
    from tacit.privacy.budget import Budget as Budget
    from tacit.privacy.budget import Person as Person
    from tacit.privacy.certificate import Certificate as Certificate
    from tacit.privacy.noise import Secure as Secure
    from tacit.privacy.noise import Simulated as Simulated
    from tacit.roles.shuffler import Shuffler as Shuffler

__version__ = "0.14.0"
__all__ = sorted([*registry.HOMES, "environments"])


if not TYPE_CHECKING:  # which would take any name for one

    def __getattr__(name: str) -> Any:
        if name == "environments":
            return importlib.import_module("tacit.environments")
        if name in registry.HOMES:
            return registry.load(registry.HOMES[name], name)
        if name[:1].isupper():  # a class: names of submodules come here, too, before they are imported
            for package in registry.packages():
                if hasattr(package, name):
                    raise AttributeError(f"Expected a name in tacit, got {name!r}, which is in {package.__name__}.")
        import difflib

        near = difflib.get_close_matches(name, __all__)
        raise AttributeError(
            f"Expected a name in tacit, got {name!r}." + f" Did you mean {' or '.join(near)}?" * bool(near)
        )


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
