"""reticent learns what to offer to whom, while what it shows would be nearly the same whatever any one person's data
were.

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
    features/ logs planning/: from fields and logs to a decision, and how many people it takes
    references/   without privacy, to compare with
    environments/ experiments/ cli/ testing/

Bandits on a database and behind HTTP are in reticent_serve, the shuffle and local models in reticent_devices.

Names are loaded when they are first used, so that a device can import its own small part alone.
"""

import importlib
import sys
from typing import TYPE_CHECKING, Any

if sys.version_info < (3, 11):  # noqa: UP036  # from a checkout; pip knows it from pyproject.toml
    raise ImportError(f"Expected Python 3.11 or later for reticent, got {sys.version_info[0]}.{sys.version_info[1]}.")

from reticent import registry

if TYPE_CHECKING:
    from reticent import environments as environments
    from reticent.algorithms.prior import WarmStart as WarmStart
    from reticent.core.bandit import Bandit as Bandit
    from reticent.core.choices import Choice as Choice
    from reticent.core.choices import Choices as Choices
    from reticent.core.reward import Reward as Reward
    from reticent.experiment import Experiment as Experiment
    from reticent.experiments.result import Result as Result
    from reticent.experiments.runner import simulate as simulate
    from reticent.experiments.spec import Spec as Spec
    from reticent.features.columns import Category as Category
    from reticent.features.columns import Hashed as Hashed
    from reticent.features.columns import Number as Number
    from reticent.features.columns import Tags as Tags
    from reticent.features.schema import Schema as Schema
    from reticent.joint import JointGLM as JointGLM
    from reticent.model.holdout import Holdout as Holdout
    from reticent.models.choose import Variant as Variant
    from reticent.privacy.budget import Budget as Budget
    from reticent.privacy.budget import Person as Person
    from reticent.privacy.certificate import Certificate as Certificate
    from reticent.privacy.noise import Secure as Secure
    from reticent.privacy.noise import Simulated as Simulated
    from reticent.references.lin_ucb import LinUCB as LinUCB
    from reticent.references.uniform import Uniform as Uniform

__version__ = "1.0.0a1"
__all__ = sorted([*registry.HOMES, "environments"])


if not TYPE_CHECKING:  # which would take any name for one

    def __getattr__(name: str) -> Any:
        if name == "environments":
            return importlib.import_module("reticent.environments")
        if name in registry.HOMES:
            return registry.load(registry.HOMES[name], name)
        if name[:1].isupper():  # a class: names of submodules come here, too, before they are imported
            for package in registry.packages():
                if hasattr(package, name):
                    raise AttributeError(f"Expected a name in reticent, got {name!r}, which is in {package.__name__}.")
        import difflib

        near = difflib.get_close_matches(name, __all__)
        raise AttributeError(
            f"Expected a name in reticent, got {name!r}." + f" Did you mean {' or '.join(near)}?" * bool(near)
        )


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
