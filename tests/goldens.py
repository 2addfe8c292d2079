"""What every bandit does in simulation, to the last bit: `python -m tests.goldens FILE` writes a line for each bandit
and link. A change of structure alone leaves the file as it is: write one before it and one after, on one machine (other
processors round differently), and compare. A bandit that does not take a link has that line as well, with why."""

import contextlib
import hashlib
import io
import json
import sys
from pathlib import Path

from tacit import cli, registry
from tacit.model import links

WORLD = "--env ball --dim 3 --arms 8 --radius 2 --horizon 3000 --epsilon 4 --delta 0.01 --runs 3 --seed 5 --json"


def told(bandit: str, link: str) -> str:
    """Regret and reward of three runs as the command line prints them, without times; or its error."""
    out, errors = io.StringIO(), io.StringIO()
    sys.argv = ["tacit", "simulate", bandit, "--link", link, *WORLD.split()]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors), contextlib.suppress(SystemExit):
        cli.main()
    if not out.getvalue():
        return errors.getvalue().split("\n")[0]
    (row,) = json.loads(out.getvalue())["rows"]
    del row["us_per_round"]
    digest = hashlib.sha256(json.dumps(row, sort_keys=True).encode()).hexdigest()[:16]
    return f"{digest} {row['regret_mean']!r}"


def main() -> None:
    names = getattr(registry, "BANDITS", None) or registry.bandits()
    with Path(sys.argv[1]).open("w") as file:
        for bandit in sorted(names):
            for link in links.NAMES:
                file.write(f"{bandit} {link} {told(bandit, link)}\n")
                file.flush()


if __name__ == "__main__":
    main()
