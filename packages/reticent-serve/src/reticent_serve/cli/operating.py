"""Commands for whoever runs a bandit."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from reticent import registry
from reticent.cli.options import Json, Yes, flag
from reticent.cli.output import confirm, tell

Config = Annotated[Path, typer.Argument(help="What is served: a TOML file.")]
Bandit = Annotated[str | None, typer.Argument(help="Its name there. Default: all of them.")]
BanditAndFile = Annotated[
    list[str], typer.Argument(metavar="[BANDIT] FILE", help="The name of one bandit (default: all), and the backup.")
]


def serve_command(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[analyzer|shuffler|local] [CONFIG]",
            help="What to serve: a TOML file (docs/operator.md); one of the roles' (docs/roles.md) after its name.",
        ),
    ] = None,
    demo: Annotated[bool, flag("--demo", help="Serve simulated people, in the working folder.")] = False,
    port: Annotated[int | None, typer.Option(help="Instead of the file's; 0 for any that is free.")] = None,
) -> None:
    """Serve bandits over HTTP until SIGTERM. From a database that loses nothing; or one role of the shuffle and local
    models."""
    words = what or []
    roles = registry.table("ROLES")
    if len(words) == 2 and words[0] in roles:
        registry.load(*roles[words[0]])(words[0], Path(words[1]), port=port, say=tell)
        return
    if len(words) > 1 or (not words) != demo or words[:1] in [[role] for role in roles]:
        known = f", a role ({', '.join(roles)}) and CONFIG.toml" if roles else ""
        raise ValueError(f"Expected CONFIG.toml{known}, or --demo.")
    from reticent_serve.service import command

    command.run(Path(words[0]) if words else None, port=port, say=tell)


def retire_command(
    config: Annotated[Path, typer.Argument(help="What is served: a TOML file.")],
    bandit: Annotated[str, typer.Argument(help="Its name there.")],
    yes: Yes = False,
) -> None:
    """End a bandit for good. No more choices and rewards, what is raw and its keys are destroyed. Its certificate
    stays."""
    from reticent_serve.service import command

    confirm(f"end {bandit} for good, and destroy its keys", yes)
    sys.stdout.write(command.retire(config, bandit) + "\n")


def erase_command(
    config: Annotated[Path, typer.Argument(help="What is served: a TOML file.")],
    bandit: Annotated[str, typer.Argument(help="Its name there.")],
) -> None:
    """Delete what is still waiting of a person. The id is read from standard input: a command line would be kept and
    seen. Says what cannot be undone; the same whether or not anything was found."""
    from reticent_serve.service import command

    sys.stdout.write(command.erase(config, bandit, sys.stdin.readline()) + "\n")


def key_command(
    name: Annotated[str, typer.Argument(help="Whose key it is.")],
    role: Annotated[
        str, typer.Option(help="app (choose, reward), operator or auditor; shuffler (docs/roles.md).")
    ] = "app",
) -> None:
    """Make a key for `reticent serve`. Shows lines with its hash on standard output, for the configuration, and on
    standard error the key itself, which is shown only here."""
    from reticent_serve.service import command

    key, lines = command.new_key(name, role)
    tell(f"The key, shown only here: {key}")
    sys.stdout.write(lines)


def backup_command(config: Config, words: BanditAndFile) -> None:
    """Copy bandits into an SQLite file. They may be served meanwhile. The file holds neither keys
    nor the witness: raw rows in it are sealed, though not how many there are."""
    from reticent_serve.service import operating

    sys.stdout.write(operating.backup(config, *_split(words)) + "\n")


def restore_command(
    config: Config,
    bandit: Annotated[str, typer.Argument(help="Its name there.")],
    file: Annotated[Path, typer.Argument(help="The backup.")],
    yes: Yes = False,
) -> None:
    """Make a new bandit from a backup. It takes the place of the one of that name; all servers are stopped. It starts
    from what the backup has of releases. First says what that costs."""
    from reticent_serve.service import operating

    work = operating.restore(config, bandit, file, say=tell)
    confirm(f"drop what the database has of {bandit}, and destroy its keys", yes)
    sys.stdout.write(work() + "\n")


def move_command(
    config: Config,
    to: Annotated[str, typer.Option(help="The other database: postgresql://... or an SQLite file.")],
    bandit: Bandit = None,
) -> None:
    """Take bandits to another database. All that they have goes with them: no noise is drawn again, and nothing is
    counted twice. An SQLite file must be free; workers of PostgreSQL refuse from then on. Killed, run it again."""
    from reticent_serve.service import operating

    sys.stdout.write(operating.move(config, bandit, to) + "\n")


def end_experiment_command(
    config: Config, bandit: Annotated[str, typer.Argument(help="Its name there.")], yes: Yes = False
) -> None:
    """End the holdout of a bandit, once and for good. Later choices are all the bandit's, and what the trial said
    by then stands. An SQLite file that is served has to be asked over HTTP (POST .../end-experiment)."""
    from reticent_serve.service import operating

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
    """Look for mistakes in a sample of requests. It has to be made up, public, or of people who will not be served:
    values are shown. Counts by field what is unknown, missing, out of bounds or of the wrong type, then says what
    `plan` says. Opens no database, writes nothing. Exit code 0 only if nothing is wrong."""
    from reticent_serve.cli import checking

    if not checking.show(config, sample, bandit, as_json=as_json):
        raise typer.Exit(1)
