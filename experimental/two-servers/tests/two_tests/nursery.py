"""Starts aggregators for tests, as devices_tests.service.roles.nursery starts roles: all is imported and compiled here
once."""

import json
import os
import signal
import sys
from pathlib import Path

from reticent.errors import ReticentError
from reticent_two.service import command


def serve(path, port):
    log = os.open(path.with_suffix(".log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for descriptor in (1, 2):
        os.dup2(log, descriptor)
    os.chdir(path.parent)
    status = 1
    try:
        command.run(path, port=port, say=lambda text: print(text, flush=True))
        status = 0
    except (ValueError, ReticentError) as error:
        print(error, flush=True)
    finally:
        os._exit(status)


def main():
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # whoever ends is gone
    command.warm()
    for line in sys.stdin:
        path, _, port = json.loads(line)
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            serve(Path(path), port)
        print(child, flush=True)


if __name__ == "__main__":
    main()
