"""Commands for whoever runs a bandit: backups, another database, and the end of a holdout."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.options import Json, Yes
from tacit.cli.output import confirm, tell

Config = Annotated[Path, typer.Argument(help="What is served: a TOML file.")]
Bandit = Annotated[str | None, typer.Argument(help="Its name there. Default: all of them.")]
BanditAndFile = Annotated[
    list[str], typer.Argument(metavar="[BANDIT] FILE", help="The name of one bandit (default: all), and the backup.")
]


def backup_command(config: Config, words: BanditAndFile) -> None:
    """Copy bandits from their database into an SQLite file, while they are served or not. The file holds neither keys
    nor the witness: raw rows in it are sealed, though not how many there are."""
    from tacit.service import operating

    sys.stdout.write(operating.backup(config, *_split(words)) + "\n")


def restore_command(
    config: Config,
    bandit: Annotated[str, typer.Argument(help="Its name there.")],
    file: Annotated[Path, typer.Argument(help="The backup.")],
    yes: Yes = False,
) -> None:
    """Make a new bandit from a backup, in the place of the one of that name, with all servers stopped. It starts from
    what the backup has of releases. First says what that costs."""
    from tacit.service import operating

    work = operating.restore(config, bandit, file, say=tell)
    confirm(f"drop what the database has of {bandit}, and destroy its keys", yes)
    sys.stdout.write(work() + "\n")


def move_command(
    config: Config,
    to: Annotated[str, typer.Option(help="The other database: postgresql://... or an SQLite file.")],
    bandit: Bandit = None,
) -> None:
    """Take bandits to another database with all that they have: no noise is drawn again, and nothing is counted twice.
    An SQLite file must be free; workers of PostgreSQL refuse from then on. Killed, run it again."""
    from tacit.service import operating

    sys.stdout.write(operating.move(config, bandit, to) + "\n")


def end_experiment_command(
    config: Config, bandit: Annotated[str, typer.Argument(help="Its name there.")], yes: Yes = False
) -> None:
    """End the holdout of a bandit, once and for good: later choices are all the bandit's, and what the trial said
    by then stands. An SQLite file that is served has to be asked over HTTP (POST .../end-experiment)."""
    from tacit.service import operating

    confirm(f"end the holdout of {bandit}, which cannot begin again", yes)
    sys.stdout.write(operating.end_experiment(config, bandit) + "\n")


def _split(words: list[str]) -> tuple[str | None, Path]:
    if len(words) > 2:
        raise ValueError(f"Expected [BANDIT] FILE, got {len(words)} words.")
    return (words[0] if len(words) == 2 else None), Path(words[-1])


def check_command(
    config: Annotated[Path, typer.Argument(help="What is to be served: a TOML file.")],
    sample: Annotated[Path, typer.Argument(help="Requests as JSON lines: contexts, or whole bodies of choose.")],
    bandit: Annotated[str | None, typer.Argument(help="Its name in the file, where there are several.")] = None,
    as_json: Json = False,
) -> None:
    """Look for mistakes in a sample of requests that is made up, public, or of people who will not be served: it shows
    values. Counts by field what is unknown, missing, out of bounds or of the wrong type, then says what `plan` says.
    Opens no database, writes nothing. Exit code 0 only if nothing is wrong."""
    from tacit.cli import checking

    if not checking.show(config, sample, bandit, as_json=as_json):
        raise typer.Exit(1)
