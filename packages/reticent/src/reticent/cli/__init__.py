"""The command line. Strings come in here, and nowhere else (`parse` makes them what they mean). What a command needs is
imported when it runs, so that help comes at once."""

import functools
import logging
import signal
import sys
import warnings
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reticent import __version__, registry
from reticent.cli.options import (
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
    flag,
)
from reticent.cli.output import fail, progress, show, tell, write_json
from reticent.cli.parse import parse_bandit, parse_environment, parse_epsilon
from reticent.errors import Interrupted, NoHorizon, NotSecure, ReticentError

if TYPE_CHECKING:
    from reticent.experiments.spec import Spec

ABOUT = "Contextual bandits under differential privacy: they limit, provably, what anyone can infer about one person."
GROUPS = "Learn", "Serve", "Check", "Research"  # of commands
HORIZON = 10_000  # rounds, where none are given and the bandit needs a number

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help=ABOUT,
    pretty_exceptions_show_locals=False,  # some versions print them: people's data, and keys
)


def show_version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"reticent {__version__}\n")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, flag("--version", callback=show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Contextual bandits under differential privacy: they limit, provably, what anyone can infer about one person."""


@app.command("simulate", rich_help_panel="Research")
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
    """Play bandits against each other in simulated worlds. Shows regret, with its spread, and microseconds a round."""
    given = {"link": link, "dim": dim, "arms": arms, "radius": radius}
    worlds = [parse_environment(text, given) for text in env]
    epsilons = [parse_epsilon(e) for e in epsilon]
    specs = [spec for text in bandits for spec in parse_bandit(text, epsilons, delta)]
    from reticent.experiments.runner import simulate

    with progress("simulating") as report:
        result = simulate(specs, worlds, horizon=horizon, runs=runs, seed=seed, delay=delay, progress=report)
    show(result, as_json=as_json)


@app.command("privacy", rich_help_panel="Check")
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
        flag("--registry", help="JSON for public registries of deployments, with what is left to fill in."),
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
        from reticent.privacy.ledger import epsilon_of

        together = epsilon_of([release for found in certificates for release in found.releases], delta)
        tell(f"A person who is in all of them: epsilon {together:.4g} at delta {delta:g}.")


@app.command("warm-up", rich_help_panel="Serve")
def warm_up_command(
    bandits: Annotated[list[str] | None, typer.Argument(help="BANDIT[:key=value,...]. Default: all of them.")] = None,
) -> None:
    """Compile what bandits need, so that no request waits. They are ready to choose, observe and release then."""
    from reticent.process import stopping_at_once

    specs = [parse_bandit(text, [1.0], 1e-6)[0] for text in bandits or registry.bandits()]
    logger, handler = logging.getLogger("reticent"), logging.StreamHandler()
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        with stopping_at_once():
            for spec in specs:
                build(spec, dim=5, radius=1.0).warm_up()
    finally:
        logger.removeHandler(handler)


for _name, (_module, _function, _panel) in registry.table("COMMANDS").items():
    app.command(_name, rich_help_panel=_panel)(registry.load(_module, _function))
app.registered_commands.sort(key=lambda each: [*GROUPS, each.rich_help_panel].index(each.rich_help_panel))
for each in app.registered_commands:  # sentences, not the lines that they are written in; the first one in lists
    each.help = " ".join((each.callback.__doc__ or "").split())
    each.short_help = each.help.partition(". ")[0].rstrip(".") + "."


def main() -> None:
    """Exit code 0 only if what was asked for was done."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = show_warning  # type: ignore[assignment]
            app(standalone_mode=True)
    except (ValueError, ReticentError) as error:
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
    from reticent.core.bandit import Bandit
    from reticent.core.live import Distributed
    from reticent.experiments.spec import settings_of
    from reticent.flat import fitting, named
    from reticent.joint import JointGLM

    if issubclass(spec.kind, JointGLM):
        told = {"features": known["dim"], "radius": known["radius"], "horizon": known.get("horizon")}
        return Bandit(named(**fitting(told | spec.options)))
    make: Any = spec.kind
    if issubclass(spec.kind, Distributed):
        make, known["features"] = spec.kind.named, known["dim"]
    names = settings_of(spec.kind)
    settings = {key: value for key, value in known.items() if key in names} | spec.options
    try:
        return make(**settings)
    except NoHorizon:
        return build(spec, **known | {"horizon": HORIZON})
    except NotSecure:
        from reticent.privacy.noise import Simulated

        return make(**settings | {"source": Simulated()})
