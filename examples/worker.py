"""`reticent serve` in a process of its own; what it says is passed on."""

import re
import subprocess
import sys
import threading
from pathlib import Path


class Worker:
    """words: what follows `reticent serve`, or another module."""

    def __init__(self, name: str, folder: Path, *words: str, module: tuple[str, ...] = ("reticent", "serve")) -> None:
        command = [sys.executable, "-m", *module, *words]
        self.process = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True, start_new_session=True)
        self._name, self._found, self._ready = name, "", threading.Event()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        for line in self.process.stderr:
            print(f"{self._name}: {line}", end="", flush=True)
            if found := re.search(r"Serving on (http\S+)", line):
                self._found = found[1]
                self._ready.set()
        self._ready.set()

    def address(self) -> str:
        self._ready.wait()
        if not self._found:
            raise SystemExit(f"Expected {self._name} to start, got one that ended.")
        return self._found

    def end(self) -> None:
        self.process.terminate()
        self.process.wait(30)
