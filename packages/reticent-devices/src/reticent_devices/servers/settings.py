"""What each role is told, as a TOML file says it: strictly, as reticent_serve.service.config."""

import dataclasses
import urllib.parse
from pathlib import Path
from typing import Any

import msgspec

from reticent import checks, registry
from reticent.features.schema import Schema
from reticent.privacy.budget import Budget
from reticent_devices.bandits.server import Server, named
from reticent_devices.roles.analyzer import check_shares
from reticent_serve.service import config as configs
from reticent_serve.service.config import KeySetting, Seconds, ServerSetting, is_loopback

MALICIOUS = (
    "Expected malicious, the share of a batch's reports that may come from the analyzer or from whoever works with it, "
    "got none. Their coins hide nobody, and whoever sends all other reports of a batch reads the one that is left. "
    "State the largest share that you cannot rule out: 0.1 where each device is signed in or attested, 0.5 where the "
    "application only limits how many reports come from one address, 0 if nobody could forge any. Where anybody may "
    "send any number, no share is safe. The noise grows by 1 / sqrt(1 - malicious)."
)
GIVEN = ("features", "budget", "reward", "horizon", "source", "policy")
TABLES = {"analyzer": "SHUFFLE", "local": "LOCAL"}  # of the registry


class ReportedReward(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """As reticent.Reward, what a server has of it; what is not given is the kind's default."""

    link: str | None = None
    radius: float | None = None
    range: tuple[float, float] | None = None

    def given(self) -> dict[str, Any]:
        return {name: value for name, value in msgspec.structs.asdict(self).items() if value is not None}


class BanditSettings(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The server of an analyzer, or of the local model; what is not given is the library's default.

    features: a schema, as Schema.to_dict writes it, of which only the digest leaves; or how many numbers a vector has.
    budget, reward, horizon: as of a server in Python. options: what else the class takes. database: an SQLite file of
    its own. name: of the bandit, for its dashboard."""

    kind: str
    name: str = ""
    features: int | dict[str, Any]
    budget: Budget
    reward: ReportedReward = ReportedReward()
    horizon: int | None = None
    database: str
    options: dict[str, Any] = {}


class Between(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The shuffler. analyzer: where batches go. budget: its operator's own; a billboard above it is refused. minimum:
    reports of a batch at least; by default the billboard's, which the budget is checked with. malicious: the share of
    reports that may be the analyzer's own; the operator states it, and the budget is checked without them. close_after:
    the time after which a batch is closed that has its minimum; else it is closed when it has the planned number.
    database: an SQLite file of its own. keys: the folder of the batches' keys; FILE.keys by default. key: a file with
    the key that the analyzer knows it by. witness: the file that says which batches were closed, in a folder that
    nobody restores together with database or keys. sealed: a file with its identity, made if there is none; reports
    have to be sealed to their batch's key then, which it signs (reticent_devices.roles.sealed). parts: the names of
    other shufflers with parts of each batch, which this one closes. part: its own name, if `analyzer` is the address of
    a shuffler that closes its batches. share: of the planned number, at which it is full. name: of the bandit, for the
    dashboard."""

    analyzer: str
    name: str = ""
    budget: Budget
    database: str
    malicious: float | None = None
    minimum: int | None = None
    close_after: Seconds | None = None
    keys: str | None = None
    key: str | None = None
    witness: str = ""
    sealed: str | None = None
    parts: tuple[str, ...] = ()
    part: str | None = None
    share: float = 1.0

    def __post_init__(self) -> None:
        address = urllib.parse.urlsplit(self.analyzer)
        if address.scheme not in ("http", "https") or not address.hostname:
            raise ValueError("Expected analyzer to be http://HOST:PORT or https://HOST:PORT, got another.")
        if self.key is not None and address.scheme == "http" and not is_loopback(address.hostname):
            raise ValueError("Expected https:// for an analyzer beyond this machine, got http://: the key would show.")
        if not 0 < self.share <= 1 or (self.part is None) != (self.share == 1):
            raise ValueError("Expected a share in (0, 1) with part, and none without, got another.")
        if self.part is not None and (self.parts or not self.part.isidentifier()):
            raise ValueError("Expected part to be a name, and no parts of it, got others.")
        if self.malicious is None:
            raise ValueError(MALICIOUS)
        if not self.witness:
            raise ValueError("Expected witness, a file in another folder than database and keys, got none.")
        check_shares(0.0, self.malicious)
        self.budget.of_rounds("a shuffler")
        if self.minimum is not None:
            checks.positive_int(minimum=self.minimum)
        if self.close_after is not None:
            checks.positive(close_after=self.close_after)


class AnalyzerServer(ServerSetting, kw_only=True, frozen=True):
    port: int = 8322


class ShufflerServer(ServerSetting, kw_only=True, frozen=True):
    port: int = 8323


class LocalServerSetting(ServerSetting, kw_only=True, frozen=True):
    port: int = 8324


class AnalyzerConfig(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    analyzer: BanditSettings
    server: AnalyzerServer = AnalyzerServer()
    keys: tuple[KeySetting, ...] = ()

    def __post_init__(self) -> None:
        configs.check_keys(self.keys, ("shuffler",))
        configs.check_server(self.server)
        if not self.keys and not is_loopback(self.server.host):
            raise ValueError("Expected [[keys]] for an analyzer beyond this machine (see `reticent key`), got none.")


class ShufflerConfig(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """keys: of the shufflers that have parts, by their names."""

    shuffler: Between
    server: ShufflerServer = ShufflerServer()
    keys: tuple[KeySetting, ...] = ()

    def __post_init__(self) -> None:
        configs.check_keys(self.keys, ("shuffler",))
        configs.check_server(self.server)
        if not is_loopback(self.server.host) and self.shuffler.parts and not self.keys:
            raise ValueError("Expected [[keys]] of the parts of a shuffler beyond this machine, got none.")
        if not is_loopback(self.server.host) and self.server.tls_certificate is None and self.shuffler.sealed is None:
            raise ValueError(
                "Expected tls_certificate for a shuffler beyond this machine, or sealed reports, got neither: whoever "
                "reads a report on its way sees what the shuffler is trusted with."
            )


class LocalConfig(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    local: BanditSettings
    server: LocalServerSetting = LocalServerSetting()

    def __post_init__(self) -> None:
        configs.check_server(self.server)


CONFIGS: dict[str, tuple[type[msgspec.Struct], type[msgspec.Struct]]] = {  # role -> its configuration, its own part
    "analyzer": (AnalyzerConfig, BanditSettings),
    "shuffler": (ShufflerConfig, Between),
    "local": (LocalConfig, BanditSettings),
}


def read(role: str, path: Path) -> Any:
    """The configuration of that role in that file; ValueError if anything in it is not as it should be. Relative files
    are beside it."""
    document = configs.toml(path)
    try:
        return convert(role, document, path.absolute().parent)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def convert(role: str, document: dict[str, Any], folder: Path) -> Any:
    """ValueError says in which part of the document a problem is."""
    whole, own = CONFIGS[role]
    if role not in document:
        raise ValueError(f"Expected [{role}] in the configuration, got none.")
    configs.taken(document[role], own, f"[{role}]")
    configs.taken(document.get("server", {}), ServerSetting, "[server]")
    for given in document.get("keys", ()):
        configs.taken(given, KeySetting, "[[keys]]")
    config = configs.taken(document, whole, "the configuration")
    mine: Any = getattr(config, role)
    files = [name for name in ("database", "keys", "key", "witness", "sealed") if hasattr(mine, name)]
    placed: Any = {
        role: configs.below(folder, mine, *files),
        "server": configs.below(folder, config.server, "tls_certificate", "tls_key"),  # type: ignore[attr-defined]
    }
    if role == "shuffler":
        _check_apart(placed[role])
    return msgspec.structs.replace(config, **placed)


def _check_apart(own: Between) -> None:
    """ValueError where whoever restores the database's folder, or that of the keys, restores the witness as well."""
    witness, database = Path(own.witness).resolve().parent, Path(own.database)
    folders = [
        ("database", database.parent),
        ("database", database.resolve().parent),
    ]  # of the file, and of where it links
    for name, folder in (*folders, ("keys", Path(own.keys or f"{own.database}.keys"))):
        if witness.is_relative_to(folder.resolve()):
            raise ValueError(
                f"[shuffler]: Expected witness outside of the folder of {name}, got it inside: whoever restores that "
                "folder restores both, and a batch would be handed over twice, with one person's report as the "
                "difference."
            )


def build(role: str, setting: BanditSettings, **agreed: Any) -> Server:
    """The server, new; ValueError for settings that it does not take, or that claim nothing. agreed: what is not the
    operator's to set."""
    kinds = registry.bandits(TABLES[role])
    checks.name("a kind that can be served", setting.kind, kinds)
    made = registry.load(*kinds[setting.kind])
    if not issubclass(made, Server):
        raise ValueError(f"[{role}]: Expected a kind with devices and reports, got {setting.kind}, which is simulated.")
    return of(made, role, setting, **agreed)


def of(made: type[Server], role: str, setting: BanditSettings, **agreed: Any) -> Server:
    """As `build`, of that class."""
    free = [field.name for field in dataclasses.fields(made) if field.init and field.name not in (*GIVEN, *agreed)]
    for name in setting.options:
        checks.name(f"an option of {setting.kind}", name, free)
    if "malicious" in free and "malicious" not in setting.options:
        raise ValueError(f"[{role}] options: {MALICIOUS}")
    given: dict[str, Any] = {"horizon": setting.horizon} | setting.reward.given()
    if "largest" in free:
        given["largest"] = None  # bounded, unless the options say how
    options = {name: float(v) if type(v) is int and name == "malicious" else v for name, v in setting.options.items()}
    features = setting.features if isinstance(setting.features, int) else Schema.from_dict(setting.features)
    try:
        server = named(made, features=features, budget=setting.budget, **(given | options | agreed))
    except (ValueError, TypeError) as error:
        raise ValueError(f"[{role}]: {error}") from None
    if not server.privacy.private:
        raise ValueError(f"[{role}]: Expected settings that protect people's data, got some without a claim.")
    return server
