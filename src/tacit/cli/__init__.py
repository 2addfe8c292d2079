"""The command line. Strings come in here, and nowhere else (`parse` makes them what they mean). What a command needs is
imported when it runs, so that help comes at once."""

import functools
import logging
import signal
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit import __version__, registry
from tacit.cli.operating import backup_command, check_command, end_experiment_command, move_command, restore_command
from tacit.cli.options import (
    Arms,
    Bandits,
    Delayed,
    Delta,
    Dim,
    Epsilon,
    Horizon,
    Json,
    Link,
    Radius,
    Runs,
    Seed,
    Worlds,
    Yes,
)
from tacit.cli.output import confirm, fail, progress, show, tell, write_json
from tacit.cli.parse import parse_bandit, parse_environment, parse_epsilon
from tacit.cli.plan import plan_command
from tacit.errors import Interrupted, NoHorizon, NotSecure, TacitError

if TYPE_CHECKING:
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
    bandits: Bandits,
    env: Worlds,
    link: Link = None,
    dim: Dim = None,
    arms: Arms = None,
    radius: Radius = None,
    horizon: Horizon = HORIZON,
    delay: Delayed = None,
    epsilon: Epsilon = ["1"],  # noqa: B006
    delta: Delta = 1e-6,
    runs: Runs = 20,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Play bandits against each other in simulated worlds: regret, with its spread, and microseconds a round."""
    given = {"link": link, "dim": dim, "arms": arms, "radius": radius}
    worlds = [parse_environment(text, given) for text in env]
    epsilons = [parse_epsilon(e) for e in epsilon]
    specs = [spec for text in bandits for spec in parse_bandit(text, epsilons, delta)]
    from tacit.experiments.runner import simulate

    with progress("simulating") as report:
        result = simulate(specs, worlds, horizon=horizon, runs=runs, seed=seed, delay=delay, progress=report)
    show(result, as_json=as_json)


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
    from tacit.service.server import stopping_at_once

    specs = [parse_bandit(text, [1.0], 1e-6)[0] for text in bandits or registry.bandits()]
    logger, handler = logging.getLogger("tacit"), logging.StreamHandler()
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        with stopping_at_once():
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


app.command("backup")(backup_command)
app.command("restore")(restore_command)
app.command("move")(move_command)
app.command("end-experiment")(end_experiment_command)
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
    from tacit.bandits import server
    from tacit.core.bandit import Bandit
    from tacit.experiments.spec import settings_of
    from tacit.flat import fitting, named
    from tacit.joint import JointGLM

    if issubclass(spec.kind, JointGLM):
        told = {"features": known["dim"], "radius": known["radius"], "horizon": known.get("horizon")}
        return Bandit(named(**fitting(told | spec.options)))
    make: Any = spec.kind
    if issubclass(spec.kind, server.Server):
        make, known["features"] = functools.partial(server.named, spec.kind), known["dim"]
    names = settings_of(spec.kind)
    settings = {key: value for key, value in known.items() if key in names} | spec.options
    try:
        return make(**settings)
    except NoHorizon:
        return build(spec, **known | {"horizon": HORIZON})
    except NotSecure:
        from tacit.privacy.noise import Simulated

        return make(**settings | {"source": Simulated()})
