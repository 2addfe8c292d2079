"""`reticent-two CONFIG.toml`: serves one aggregator, until SIGTERM."""

import argparse
import signal
import sys
from pathlib import Path

from reticent.errors import ReticentError
from reticent_two.service import command


def main() -> None:
    options = argparse.ArgumentParser(prog="reticent-two", description=__doc__)
    options.add_argument("config", type=Path, help="A TOML file: docs/two-servers.md.")
    options.add_argument("--port", type=int, help="Instead of the file's; 0 for any that is free.")
    given = options.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        command.run(given.config, port=given.port, say=lambda text: print(text, file=sys.stderr, flush=True))
    except (ValueError, ReticentError, OSError) as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit("Stopped.")


if __name__ == "__main__":
    main()
