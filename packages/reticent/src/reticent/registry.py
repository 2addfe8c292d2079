"""The one list of names: what `reticent` offers, where each of them is defined, and what the command line calls it.

Nothing is imported here before it is asked for: neither a device nor `reticent --help` waits for a compiler.

Another package adds names by an entry point of the group "reticent" that names a module of its own; `reticent_papers`
does. Of the tables below that module may have any: JOINT, SHUFFLE, LOCAL, REFERENCES and ACRONYMS, and ENVIRONMENTS, as
they are here, COMMANDS (name on the command line -> module, function in it, group of commands), BOARDS (format of a
billboard of the shuffle model -> module with its `read`, `spent` and `hidden`, as roles.billboard and roles.limits have
them), ATTACKS, the name of a package whose files are as those of reticent_lab.audit.attacks, and APART, files and
folders of it that change no result (of reticent_lab.experiments.disk_cache)."""

import functools
import importlib
import importlib.metadata
import re
from collections.abc import Callable
from types import ModuleType
from typing import Any

JOINT = {"JointGLM": "reticent.joint"}
SHUFFLE: dict[str, str] = {}
LOCAL: dict[str, str] = {}
REFERENCES = {"Uniform": "reticent.references.uniform", "LinUCB": "reticent.references.lin_ucb"}
HOMES = (
    JOINT
    | REFERENCES
    | {  # of every public name of this package
        "Bandit": "reticent.core.bandit",
        "Budget": "reticent.privacy.budget",
        "Certificate": "reticent.privacy.certificate",
        "Choice": "reticent.core.choices",
        "Choices": "reticent.core.choices",
        "Experiment": "reticent.experiment",
        "Holdout": "reticent.model.holdout",
        "Person": "reticent.privacy.budget",
        "Reward": "reticent.core.reward",
        "Variant": "reticent.models.choose",
        "WarmStart": "reticent.algorithms.prior",
        "Schema": "reticent.features.schema",
        "Category": "reticent.features.columns",
        "Hashed": "reticent.features.columns",
        "Number": "reticent.features.columns",
        "Tags": "reticent.features.columns",
        "Result": "reticent.experiments.result",
        "Secure": "reticent.privacy.noise",
        "Simulated": "reticent.privacy.noise",
        "Spec": "reticent.experiments.spec",
        "simulate": "reticent.experiments.runner",
    }
)
ACRONYMS: dict[str, str] = {}
ENVIRONMENTS = {  # what the command line calls it -> (module, name in it)
    name.replace("_", "-"): (f"reticent.environments.{home}", name)
    for home, names in {
        "synthetic": ("ball", "basis", "drift", "fixed", "gap", "rare", "shift", "skewed", "sphere", "tail"),
        "disjoint": ("disjoint",),
        "messages": ("messages",),
    }.items()
    for name in names
}
COMMANDS: dict[str, tuple[str, str, str]] = {}
BOARDS: dict[str, str] = {}
ROLES: dict[str, tuple[str, str]] = {}  # those that run as processes of their own -> (module, function that serves it)


@functools.cache
def packages() -> tuple[ModuleType, ...]:
    """Modules of other packages that add names."""
    return tuple(entry.load() for entry in sorted(importlib.metadata.entry_points(group="reticent")))


def table(name: str) -> dict[str, Any]:
    """The table of that name with what other packages add to it; ValueError if a name is taken twice."""
    found: dict[str, Any] = dict(globals().get(name, {}))
    for package in packages():
        added = getattr(package, name, {})
        twice = sorted(found.keys() & added.keys())
        if twice:
            raise ValueError(f"Expected new names in {package.__name__}.{name}, got {', '.join(twice)} again.")
        found |= added
    return found


def values(name: str) -> list[str]:
    """What other packages have under that name, for what is no table."""
    return [getattr(package, name) for package in packages() if hasattr(package, name)]


def algorithms(*trust: str) -> dict[str, str]:
    """The home of each class of bandits: of all of them, or of some tables."""
    return {
        name: home
        for each in trust or ("JOINT", "SHUFFLE", "LOCAL", "REFERENCES")
        for name, home in table(each).items()
    }


def bandits(*trust: str) -> dict[str, tuple[str, str]]:
    """What the command line calls them: name there -> (module, name in it)."""
    return {kebab(name): (home, name) for name, home in algorithms(*trust).items()}


def kebab(name: str) -> str:
    """JointGLM -> joint-glm, JointGLMRare -> joint-glm-rare; names of acronyms have a table."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", name)
    return str(table("ACRONYMS").get(name, words.lower()))


def load(home: str, name: str) -> Any:
    """What is called `name` in the module `home`."""
    return getattr(importlib.import_module(home), name)


def lazily(package: str, homes: dict[str, str]) -> Callable[[str], Any]:
    """A package's __getattr__: its names are loaded when they are first used."""

    def get(name: str) -> Any:
        if name in homes:
            return load(homes[name], name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return get
