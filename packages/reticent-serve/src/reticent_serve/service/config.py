"""What is served, as a TOML file says it: strictly, so that a word that is misspelt is an error and not a default."""

import dataclasses
import functools
import ipaddress
import re
import tomllib
import urllib.parse
from pathlib import Path
from typing import Any, TypeVar, get_args, get_type_hints

import msgspec

from reticent import checks, durations, logs, registry
from reticent.algorithms.prior import WarmStart
from reticent.core.reward import Reward
from reticent.experiment import Experiment
from reticent.features.schema import Schema
from reticent.joint import JointGLM
from reticent.model import arms
from reticent.model.holdout import Holdout
from reticent.privacy.budget import Budget

KINDS = {"joint-glm": "JointGLM"}
Setting = TypeVar("Setting", bound=msgspec.Struct)
ROLES = ("app", "operator", "auditor")


class Seconds(float):
    """A time: in a configuration a number of seconds, or a text such as "2 hours"."""


class ProfileSetting(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """Somebody made up, whose offers the dashboard shows, with what a request would have. Public, like all settings."""

    arms: dict[str, tuple[float, ...]] | None = None
    context: dict[str, Any] | None = None
    actions: dict[str, dict[str, Any]] | tuple[str, ...] | None = None


class RewardSetting(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """As reticent.Reward. window: the time after which a choice counts, with the reward that came by then."""

    link: str = "logistic"
    radius: float = Reward().radius
    range: tuple[float, float] = Reward().range
    base_rate: float | None = None
    window: str | None = None
    default: float | None = None

    def given(self) -> Reward:
        return Reward(**msgspec.structs.asdict(self))


class WarmStartSetting(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """As reticent.WarmStart. theta, precision: of the prior. rows: a Parquet or CSV file of public rows."""

    theta: tuple[float, ...] | None = None
    precision: float | None = None
    rows: str | None = None

    def given(self, schema: Schema | None) -> WarmStart:
        if (self.theta is None) != (self.precision is None):
            raise ValueError("Expected theta and precision of warm_start together, got one of them.")
        prior = None if self.theta is None else (self.theta, self.precision)
        rows = None if self.rows is None else logs.labelled(logs.read(self.rows), schema)
        return WarmStart(prior=prior, rows=rows)


class BanditSetting(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True, dict=True):
    """One bandit. A field that is not given is the library's default.

    features: a schema, as Schema.to_dict writes it: requests have fields then; or how many numbers a vector has.
    budget, reward, model, forget, horizon, warm_start, per_day: as of reticent.JointGLM. holdout: of an experiment.
    database: an SQLite file of its own, or "postgresql://...". keys: the folder of keys. pending: for how many later
    choices the answer to a request is kept. coordinates, profiles: names of what is in vectors, and reference profiles,
    for the dashboard."""

    kind: str
    features: int | dict[str, Any]
    budget: Budget
    reward: RewardSetting = RewardSetting()
    model: str | None = None
    forget: float | str | None = None
    horizon: int | None = None
    warm_start: WarmStartSetting | None = None
    per_day: float | None = None
    holdout: Holdout | None = None
    database: str
    keys: str | None = None
    pending: int = 100_000
    delay: Seconds = Seconds(1.0)
    most_arms: int = 1000
    coordinates: tuple[str, ...] | None = None
    profiles: dict[str, ProfileSetting] = {}

    @functools.cached_property
    def schema(self) -> Schema | None:
        return None if isinstance(self.features, int) else Schema.from_dict(self.features)

    @property
    def dim(self) -> int:
        return self.features if self.schema is None else self.schema.dim  # type: ignore[return-value]

    @property
    def range(self) -> tuple[float, float]:
        """Of rewards."""
        return self.reward.range

    @functools.cached_property
    def labels(self) -> list[str]:
        """What each number of a vector stands for."""
        if self.schema is not None:
            return self.schema.labels
        return list(self.coordinates or (f"feature {i + 1}" for i in range(self.dim)))

    def offered(self, profile: ProfileSetting) -> tuple[str, ...]:
        """The names of what may be offered to somebody; ValueError for what this bandit does not take."""
        if self.schema is not None and profile.arms is None and profile.context is not None:
            return self.schema.rows(profile.context, profile.actions)[0]
        if self.schema is None and profile.arms is not None and profile.context is profile.actions is None:
            return arms.check(profile.arms, self.dim).names or ()
        raise ValueError("Expected context and actions where the bandit has features, else arms, got others.")


class KeySetting(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A key of a role. hash: SHA-256 of the key, as `reticent key` prints it. rate: rows a second, for choices and for
    rewards each."""

    name: str
    role: str
    hash: str
    rate: float = 2000.0


class ServerSetting(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """body: bytes of a request at most. bodies: of all choices at the same time, of all rewards, and so on. waiting:
    rows that wait for a commit at most. patience: the time for the head of a request to come, and for its body.
    connections: at the same time. drain: the time that requests at work have after SIGTERM. user: where it is started
    as root, whom it runs as from then on."""

    host: str = "127.0.0.1"
    port: int = 8321
    body: int = 1_000_000
    bodies: int = 64_000_000
    waiting: int = 4096
    patience: Seconds = Seconds(10.0)
    connections: int = 1000
    drain: Seconds = Seconds(20.0)
    tls_certificate: str | None = None
    tls_key: str | None = None
    user: str | int | None = None


class Config(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    bandits: dict[str, BanditSetting]
    server: ServerSetting = ServerSetting()
    keys: tuple[KeySetting, ...] = ()

    def __post_init__(self) -> None:
        if not self.bandits:
            raise ValueError("Expected [bandits.NAME] in the configuration, got none.")
        files: dict[str, str] = {}
        for name, setting in self.bandits.items():
            try:
                _check_bandit(name, setting)
            except ValueError as error:
                raise ValueError(f"[bandits.{name}]: {error}") from None
            if "://" not in setting.database and files.setdefault(setting.database, name) != name:
                raise ValueError(
                    f"Expected an SQLite file for each bandit, got one for {files[setting.database]} and {name}."
                )
        check_keys(self.keys, ROLES)
        check_server(self.server)
        if not self.keys and not is_loopback(self.server.host):
            raise ValueError("Expected [[keys]] for a server beyond this machine (see `reticent key`), got none.")


def check_keys(keys: tuple[KeySetting, ...], roles: tuple[str, ...]) -> None:
    for key in keys:
        checks.one_of(roles, role=key.role)
        checks.positive(rate=key.rate)
        if len(key.hash) != 64 or set(key.hash) - set("0123456789abcdef"):
            raise ValueError("Expected hash to be 64 hexadecimal digits (from `reticent key`), got another text.")
    kinds: dict[str, list[tuple[str, float]]] = {}
    for key in keys:
        kinds.setdefault(key.name, []).append((key.role, key.rate))
    for name, found in kinds.items():
        if len(found) > 2 or len(set(found)) > 1:
            raise ValueError(f"Expected one key of the name {name}, or an old and a new one of one role and rate.")
    if len({key.hash for key in keys}) < len(keys):
        raise ValueError("Expected keys of different hashes, got one twice.")


def check_server(server: ServerSetting) -> None:
    for field in ("body", "bodies", "waiting", "connections"):
        checks.positive_int(**{field: getattr(server, field)})
    checks.positive(patience=server.patience, drain=server.drain)
    if not 0 <= server.port <= 65535:
        raise ValueError(f"Expected port to be 0 to 65535, got {server.port}.")
    if server.bodies < server.body:
        raise ValueError("Expected bodies to be at least body, got less: no request of that size could come.")
    if (server.tls_certificate is None) != (server.tls_key is None):
        raise ValueError("Expected tls_certificate and tls_key, got one of them.")


def read(path: Path) -> Config:
    """The configuration in that file; ValueError if anything in it is not as it should be. Relative files are
    beside it."""
    document = toml(path)
    try:
        return placed(convert(document), path.absolute().parent)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text())
    except OSError as error:
        raise ValueError(f"Expected a configuration in {path}, got: {error.strerror}.") from None
    except ValueError as error:
        raise ValueError(f"Expected TOML in {path}, got a problem: {error}.") from None


def convert(document: dict[str, Any]) -> Config:
    """ValueError says in which part of the document a problem is."""
    bandits = document.get("bandits")
    for name, given in bandits.items() if isinstance(bandits, dict) else ():
        taken(given, BanditSetting, f"[bandits.{name}]")
    taken(document.get("server", {}), ServerSetting, "[server]")
    for given in document.get("keys", ()):
        taken(given, KeySetting, "[[keys]]")
    return taken(document, Config, "the configuration")


def taken(given: Any, kind: type[Setting], where: str) -> Setting:
    _check_names(given, kind, where)
    try:
        return msgspec.convert(given, kind, dec_hook=_read)
    except msgspec.ValidationError as error:
        if isinstance(error.__cause__, ValueError):  # in our own words
            text = str(error.__cause__)
        else:
            text = re.sub(r" - at `\$\.?(.*)`$", r" in \1", str(error)).removesuffix(" in ") + "."
        raise ValueError(text if kind is Config else f"{where}: {text}") from None


def _check_names(given: Any, kind: Any, where: str) -> None:
    """ValueError for a setting that is misspelt, there or within; values of the library are dataclasses, whose fields
    nobody else checks."""
    if not isinstance(given, dict):
        return
    hints = get_type_hints(kind)
    for field, value in given.items():
        checks.name(f"a setting of {where}", field, hints)
        for inner in get_args(hints[field]) or (hints[field],):
            if dataclasses.is_dataclass(inner):
                _check_names(value, inner, f"{field} of {where}")


def _read(kind: type, given: object) -> Seconds:
    assert kind is Seconds
    if isinstance(given, bool) or not isinstance(given, int | float | str):
        raise ValueError(f"Expected a time to be a number of seconds, or a text, got {type(given).__name__}.")
    return Seconds(durations.seconds(given, "a time"))


def placed(config: Config, folder: Path) -> Config:
    """With files below `folder` where they are relative."""

    bandits = {name: _below(folder, one) for name, one in config.bandits.items()}
    server = below(folder, config.server, "tls_certificate", "tls_key")
    return msgspec.structs.replace(config, bandits=bandits, server=server)


def _below(folder: Path, setting: BanditSetting) -> BanditSetting:
    found = below(folder, setting, "database", "keys")
    if found.warm_start is None:
        return found
    return msgspec.structs.replace(found, warm_start=below(folder, found.warm_start, "rows"))


def below(folder: Path, setting: Setting, *files: str) -> Setting:
    """A setting with these files of it below `folder` where they are relative; an address is no file."""
    found = {name: getattr(setting, name) for name in files}
    placed = {name: str(folder / where) for name, where in found.items() if where is not None and "://" not in where}
    return msgspec.structs.replace(setting, **placed)


def build(setting: BanditSetting, name: str) -> JointGLM | Experiment:
    """The algorithm of that bandit; ValueError for settings that it does not take. Stored then finds its rows, and
    refuses settings that the noise was not made for."""
    try:
        made = JointGLM(
            setting.schema or setting.dim,
            setting.budget,
            setting.reward.given(),
            model=setting.model,
            forget=setting.forget,
            horizon=setting.horizon,
            warm_start=None if setting.warm_start is None else setting.warm_start.given(setting.schema),
            per_day=setting.per_day,
        )
        return made if setting.holdout is None else Experiment(made, setting.holdout)
    except ValueError as error:
        raise ValueError(f"[bandits.{name}]: {error}") from None


def _check_bandit(name: str, setting: BanditSetting) -> None:
    if setting.kind not in registry.bandits():
        checks.name("a kind that can be served", setting.kind, KINDS)
    if setting.kind not in KINDS:
        raise ValueError(
            f"Expected a bandit whose state is sums, which a database can hold ({' or '.join(KINDS)}), for {name}, "
            f"got {setting.kind}."
        )
    checks.positive_int(features=setting.dim, most_arms=setting.most_arms)
    if setting.coordinates is not None and setting.schema is not None:
        raise ValueError(f"Expected no coordinates of {name}, whose features say them, got some.")
    if setting.coordinates is not None and len(setting.coordinates) != setting.dim:
        raise ValueError(f"Expected {setting.dim} coordinates of {name}, got {len(setting.coordinates)}.")
    for who, profile in setting.profiles.items():
        try:
            setting.offered(profile)
        except ValueError as error:
            raise ValueError(f"Expected what a request has in the profile {who} of {name}, got: {error}") from None


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def is_here(host: str) -> bool:
    """Whether the host that a request was sent to, with or without a port, is this machine by its own name."""
    return is_loopback(urllib.parse.urlsplit(f"//{host}").hostname or "")
