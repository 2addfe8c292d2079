"""Work for the processes of Ray, on this machine or on many: what logs and sweeps share."""

import atexit
import importlib.util
import os
import secrets
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from reticent import extras

ENGINES = ("local", "ray")
TOKEN = "ray-token"  # in the work folder: whoever has it may run code on the cluster
LOOPBACK = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"  # "0": Ray listens on 127.0.0.1 alone, on Linux as well


def connect(folder: Path | None = None, workers: int | None = None) -> Any:
    """The module `ray`, connected: to what `ray.init` has connected before, to the cluster that RAY_ADDRESS names, or
    to one that is started on this machine until the process ends, with a token of its own in `folder`."""
    begun = sys.modules.get("ray")
    if begun is not None and begun.is_initialized():
        return begun
    own = {}
    if os.environ.get("RAY_ADDRESS", "") in ("", "local") and importlib.util.find_spec("ray"):
        own = {"num_cpus": workers, **_alone(folder, before=begun is None)}
    ray = extras.load("ray", "engine='ray'", extra="ray", package="reticent-lab")
    ray.init(log_to_driver=False, logging_level="error", **own)
    atexit.register(ray.shutdown)
    return ray


def _alone(folder: Path | None, before: bool) -> dict[str, Any]:
    """Settings of a cluster that no other user of the machine shares. Without an address Ray joins the latest that
    anybody has started here, and it keeps sessions where everybody may write. before: Ray is not imported yet."""
    session = tempfile.mkdtemp(
        prefix="reticent-", dir="/tmp" if os.name == "posix" else None
    )  # paths of sockets are short
    atexit.register(shutil.rmtree, session, ignore_errors=True)
    if "RAY_AUTH_MODE" not in os.environ:
        _make_token(folder or Path(session))  # before Ray makes one in the home
    if before:  # Ray reads it when it is imported
        os.environ.setdefault(LOOPBACK, "0")
    return {"address": "local", "include_dashboard": False, "_temp_dir": session}


def _make_token(folder: Path) -> None:
    """For the process and those that it starts; deleted when it ends."""
    path = folder.absolute() / TOKEN
    folder.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    with open(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
        file.write(secrets.token_hex(32))
    atexit.register(path.unlink, missing_ok=True)
    os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(path)}


class Workers:
    """So many calls of one function at a time as there are cores. The function and its results travel: whatever they
    hold is seen by every machine of the cluster."""

    def __init__(self, function: Callable[[Any], Any], folder: Path | None = None, count: int | None = None) -> None:
        self._ray = connect(folder, count)
        self._call = self._ray.remote(num_cpus=1)(_call)
        self._function = self._ray.put(function)
        self._waiting: dict[Any, Any] = {}  # what Ray has, and its item
        self.count = count or max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    @property
    def busy(self) -> int:
        return len(self._waiting)

    def submit(self, item: Any) -> None:
        self._waiting[self._call.remote(self._function, item)] = item

    def finished(self, timeout: float | None = None) -> list[tuple[Any, Any]]:
        """Items that are done, and what came of them; those that are there after at most `timeout` seconds."""
        if not self._waiting:
            return []
        ready, _ = self._ray.wait(list(self._waiting), num_returns=1, timeout=timeout)
        return [(self._waiting.pop(one), self._ray.get(one)) for one in ready]

    def map(self, items: Sequence[Any]) -> list[Any]:
        """In the order of the items."""
        return list(self._ray.get([self._call.remote(self._function, item) for item in items]))

    def stop(self) -> None:
        """What is not done is not done any more."""
        for one in self._waiting:
            self._ray.cancel(one, force=True)
        self._waiting.clear()


def _call(function: Callable[[Any], Any], item: Any) -> Any:
    return function(item)
