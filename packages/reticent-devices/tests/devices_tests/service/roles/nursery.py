"""Starts roles for tests: all is imported here once, and each role is then a process of its own, forked. Lines of
JSON come in, (configuration's path, role, port), and the number of the new process goes out."""

import json
import os
import signal
import sys
from pathlib import Path

from reticent.errors import ReticentError
from reticent_devices.servers import command, settings


def serve(path, role, port):
    log = os.open(path.with_suffix(".log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for descriptor in (1, 2):
        os.dup2(log, descriptor)
    os.chdir(path.parent)
    status = 1
    try:
        command.run(role, path, port=port, say=lambda text: print(text, flush=True))
        status = 0
    except (ValueError, ReticentError) as error:
        print(error, flush=True)
    finally:
        os._exit(status)


def main():
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # whoever ends is gone
    ready = set()
    for line in sys.stdin:
        path, role, port = json.loads(line)
        if role not in ready:
            command.application(role, settings.read(role, Path(path)))  # compiles what the child then has
        ready.add(role)
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            serve(Path(path), role, port)
        print(child, flush=True)


if __name__ == "__main__":
    main()
