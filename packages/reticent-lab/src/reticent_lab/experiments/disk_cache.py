"""Finished work on disk. It is taken up again only if all code that can change its result is the same as when it was
done: what the bandit, the world and the runner import."""

import functools
import hashlib
import inspect
import json
import math
import os
import sys
import warnings
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import msgspec

import reticent
from reticent import registry
from reticent.experiments.result import SimulatedRun
from reticent_lab.experiments import imports

PACKAGE = Path(reticent.__path__[0])
TOLD = "reproductions"
# Code that shows results, or says what to run, which is part of a run's identity; all other code can change a result.
APART = ("cli", "service", "__main__.py", "registry.py", "planning", "experiments/table.py", "testing")
LIBRARIES = ("numpy", "scipy", "numba", "scikit-learn")
RUNNER = "reticent_lab.experiments.sweeps"


class SourceFolder(NamedTuple):
    """A package whose code is in digests; apart: what of it is not."""

    name: str
    folder: Path
    apart: tuple[str, ...]


def place(folder: Path, identity: dict[str, Any], *made_by: type | ModuleType) -> Path:
    """The file of one piece of work: named by what it is, then by the code that does it. made_by: classes and modules
    that take part and may lie outside the package, as a bandit of your own does."""
    text = json.dumps(identity, sort_keys=True)
    return folder / f"{hashlib.sha256(text.encode()).hexdigest()[:24]}-{code(*made_by)[:12]}.json"


def keep(path: Path, run: SimulatedRun) -> None:
    # JSON has no infinity: epsilon without noise is written as -1
    plain = msgspec.structs.replace(run, epsilon=-1.0 if run.epsilon == math.inf else run.epsilon)
    write(path, msgspec.json.encode(plain))


def read(path: Path, *, label: str) -> SimulatedRun:
    """A run that is kept there, under this label."""
    run = msgspec.json.decode(path.read_bytes(), type=SimulatedRun)
    return msgspec.structs.replace(run, label=label, epsilon=math.inf if run.epsilon == -1 else run.epsilon)


def write(path: Path, data: bytes) -> None:
    """At once: an interrupted write leaves nothing that looks finished."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".new")
    new.write_bytes(data)
    os.replace(new, path)


def tell(places: Iterable[Path]) -> None:
    """Warn if some of this work is there already, but done by other code."""
    wanted = list(places)
    names = {name for folder in {path.parent for path in wanted} if folder.is_dir() for name in os.listdir(folder)}
    known = {name.partition("-")[0] for name in names}
    count = sum(path.name not in names and path.name.partition("-")[0] in known for path in wanted)
    if count:
        warnings.warn(
            f"{count} of {len(wanted)} runs are kept in {wanted[0].parent} from other code: they are left there, and "
            "done again with the code of now.",
            stacklevel=3,
        )


def code(*made_by: type | ModuleType, told: bool = False) -> str:
    """A digest of all code that can change a result: the files that `made_by` comes from, what they and the runner
    import of reticent and its packages (but for APART), and versions of the libraries that compute. Of all of them, if
    nothing is given. told: with the code of reproductions, which says what to run."""
    modules = frozenset(each.__name__ if isinstance(each, ModuleType) else each.__module__ for each in made_by)
    return _digest(_packages(), modules, frozenset(file for part in made_by for file in _files(part)), told)


@functools.cache
def _digest(packages: tuple[SourceFolder, ...], modules: frozenset[str], more: frozenset[str], told: bool) -> str:
    folders = {package.name: package.folder for package in packages}
    apart = {package.folder / name for package in packages for name in package.apart if not (told and name == TOLD)}
    if modules:
        outside = {named for file in more for named in imports.imported(Path(file), folders)}
        starts = [RUNNER, *modules, *(f"{each.module}.{each.name}".rstrip(".") for each in outside)]
        starts += [each.module for each in outside]
        found: Iterable[Path] = imports.closure(starts, folders)
    else:
        found = [path for folder in folders.values() for path in folder.rglob("*.py")]
    files = {
        f"{name}/{path.relative_to(folder).as_posix()}": path
        for path in found
        for name, folder in folders.items()
        if path.is_relative_to(folder) and not apart & {path, *path.parents}
    }
    contents = hashlib.sha256()
    for name, path in sorted(files.items()):
        contents.update(f"{name}\0".encode() + path.read_bytes() + b"\0")
    for name in sorted(set(more) - set(map(str, files.values()))):
        contents.update(Path(name).read_bytes() + b"\0")
    contents.update(json.dumps([_version(name) for name in LIBRARIES]).encode())
    return contents.hexdigest()


def _packages() -> tuple[SourceFolder, ...]:
    """reticent and the packages that add to it."""
    more = [module for module in registry.packages() if hasattr(module, "__path__")]
    return (
        SourceFolder("reticent", PACKAGE, APART),
        *(SourceFolder(module.__name__, Path(module.__path__[0]), getattr(module, "APART", ())) for module in more),
    )


def _files(part: type | ModuleType) -> Iterable[str]:
    """The source files of a module, or of a class and its bases."""
    for one in [part] if isinstance(part, ModuleType) else part.__mro__:
        module = one.__name__ if isinstance(one, ModuleType) else one.__module__
        if module.partition(".")[0] not in sys.stdlib_module_names:
            try:
                file = inspect.getsourcefile(one)
            except (TypeError, OSError):
                file = None
            if file is None or not Path(file).exists():
                raise ValueError(
                    f"Expected {one.__name__} to come from a file where runs are kept, got one without: nobody could "
                    "tell later whether its code has changed."
                )
            yield file


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""
