"""The page of docs/tutorial.md in a process of its own, and its made-up visitors."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "messages"


class Page:
    """app.py of a folder, that asks the server at `reticent`."""

    def __init__(self, folder, reticent):
        self.folder, self.log = folder, folder / "app.log"
        with open(self.log, "wb") as log:
            command = [sys.executable, "-m", "uvicorn", "app:app", "--no-access-log", "--port", "0"]
            given = os.environ | {"RETICENT": reticent}
            self.process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder, env=given)
        while not (found := re.search(r"running on http://(127.0.0.1:\d+)", self.log.read_text())):
            assert self.process.poll() is None, self.log.read_text()
            time.sleep(0.02)
        self.host = found[1]

    def visitors(self, count):
        command = [sys.executable, "visitors.py", str(count)]
        subprocess.run(command, check=True, cwd=self.folder, env=os.environ | {"PAGE": self.host})

    def stop(self):
        self.process.terminate()
        self.process.wait(30)
