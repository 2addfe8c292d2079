"""A tape of what was released: where raw data become released, and how a run is made to release what another did.

Where that happens is in METHODS and SEAMS, once; a new mechanism adds its line, and so do tests of a package. Compiled
loops are interpreted as far as they lead to one of these, so that a release within a loop is replayed too."""

import contextlib
import functools
import sys
from unittest import mock

import msgspec
import numba
import numpy as np

from reticent.kernels.continual import simulate_step
from reticent.mechanisms.continual import Continual
from reticent.mechanisms.grid import Grid
from reticent.mechanisms.recursive_grid import RecursiveGrid
from reticent_devices.bandits.local.irls_kernel import public_report
from reticent_devices.mechanisms.randomize_kernel import randomize
from reticent_devices.mechanisms.shuffle.sums_kernel import unshuffle
from reticent_devices.roles.local import LocalClient
from reticent_devices.roles.shuffler import Shuffler


class Tape:
    """Releases in their order, each with what is public about it."""

    def __init__(self):
        self.kept, self.at, self.fresh = [], 0, True

    def release(self, said, *arrays):
        """Keep these arrays, or put what was kept into them."""
        said = frozen(said)
        if self.fresh:
            self.kept.append((said, [array.copy() for array in arrays]))
        else:
            assert self.at < len(self.kept), "released more often than with other people"
            before, values = self.kept[self.at]
            assert said == before, "released something else than with other people"
            for array, value in zip(arrays, values, strict=True):
                array[...] = value
        self.at += 1

    def message(self, said, value):
        """The same for bytes."""
        array = np.frombuffer(value, np.uint8).copy()
        self.release(said, array)
        return array.tobytes()

    def recording(self):
        return self._through(fresh=True)

    def playing(self):
        return self._through(fresh=False)

    @contextlib.contextmanager
    def _through(self, *, fresh):
        self.at, self.fresh = 0, fresh
        with contextlib.ExitStack() as stack:
            for owner, name in METHODS:
                method = getattr(owner, name)
                stack.enter_context(mock.patch.object(owner, name, METHODS[owner, name](self, method)))
            for module, name, function in reaching():
                stack.enter_context(mock.patch.object(module, name, SEAMS.get(function, interpreted)(self, function)))
            yield
        assert self.at == len(self.kept), "released less often than with other people"


# where raw data become released: each wraps what it replaces


def prefix(tape, release):
    def seam(self, state, source, *also):
        out = release(self, state, source, *also)
        tape.release((type(self).__name__, self.size, self.sigma), state.released, *state.noise)
        return out

    return seam


def leaf(tape, measure):
    def seam(self, state, sums, source):
        out = measure(self, state, sums, source)
        tape.release(("leaf", self.size, self.sigma), out)
        return out

    return seam


def after(name, public, arrays):
    """Of a kernel: what is public of its arguments, and which arrays hold what it has released."""

    def wrap(tape, kernel):
        def seam(*args):
            out = kernel(*args)
            tape.release((name, public(*args)), *arrays(*args))
            return out

        return seam

    return wrap


def before(name, public, arrays):
    """Of a kernel that takes what a shuffler has released."""

    def wrap(tape, kernel):
        def seam(*args):
            tape.release((name, public(*args)), *arrays(*args))
            return kernel(*args)

        return seam

    return wrap


METHODS = {
    (Continual, "release"): prefix,
    (Grid, "release"): prefix,
    (Grid, "measure"): leaf,
    (RecursiveGrid, "measure"): leaf,
    (Shuffler, "close"): lambda tape, close: lambda self: tape.message("batch", close(self)),
    (LocalClient, "report"): lambda tape, report: lambda self, x, y: tape.message("report", report(self, x, y)),
}
SEAMS = {
    simulate_step: after("prefix", lambda rng, state, law: law, lambda rng, state, law: [state.released, *state.noise]),
    randomize: after("report", lambda rng, law, vector, out: law, lambda *args: [args[-1]]),
    public_report: after("report", lambda *args: (), lambda *args: [args[-1]]),
    unshuffle: before("batch", lambda reports, sums, plan: (reports, plan), lambda reports, sums, plan: [sums]),
}


def interpreted(tape, kernel):
    return kernel.py_func


def reaching():
    """(module, name, function) of each seam, and of each compiled function that leads to one."""
    names = [
        (module, name, value)
        for title, module in list(sys.modules.items())
        if title.startswith("reticent")
        for name, value in list(vars(module).items())
        if callable(value) and hasattr(value, "__hash__") and (value in SEAMS or _compiled(value))
    ]
    found, grown = set(SEAMS), True
    while grown:
        new = {value for _, _, value in names if value not in found and _compiled(value) and _calls(value, found)}
        found, grown = found | new, bool(new)
    return [(module, name, value) for module, name, value in names if value in found]


def _compiled(value):
    return isinstance(value, numba.core.dispatcher.Dispatcher)


def _calls(kernel, found):
    spaces = kernel.py_func.__globals__
    called = [spaces[name] for name in kernel.py_func.__code__.co_names if name in spaces]
    return any(callable(value) and value in found for value in called)


def frozen(value):
    """A value as something that is equal if and only if all bits are."""
    if isinstance(value, np.ndarray | np.generic):
        return str(value.dtype), value.shape, value.tobytes()
    if isinstance(value, np.random.Generator):
        return repr(value.bit_generator.state)
    if isinstance(value, dict):
        return {key: frozen(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [frozen(item) for item in value]
    if isinstance(value, msgspec.Struct):
        return repr(msgspec.structs.asdict(value))
    if isinstance(value, functools.partial):
        return [repr(value.func), frozen(value.args), frozen(value.keywords)]
    if hasattr(value, "__dataclass_fields__") and not isinstance(value, type):
        return {name: frozen(getattr(value, name)) for name in value.__dataclass_fields__}
    return repr(value)
