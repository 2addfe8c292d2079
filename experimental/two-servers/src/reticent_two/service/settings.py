"""What an aggregator is told, as a TOML file says it: strictly, as reticent_serve.service.config."""

import re
import urllib.parse
from pathlib import Path
from typing import Any

import msgspec

from reticent import checks
from reticent.privacy.budget import Budget
from reticent_devices.servers.settings import BanditSettings
from reticent_serve.service import config as configs
from reticent_serve.service.config import Seconds, ServerSetting, is_loopback
from reticent_two.aggregators.keys import DAY, SHORTEST
from reticent_two.roles.board import LONGEST
from reticent_two.roles.task import PARTIES

FILES = ("database", "counter", "identity", "peer_certificate")


class AggregatorSetting(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """One of the two servers. role: "leader" (the operator's, which devices send to) or "helper" (somebody else's).
    budget: this operator's own limit; a task that promises people less is not signed. database: an SQLite file of its
    own. counter: the counter file, in another folder, on another disk if there is one, and in no backup. identity: a
    file with the private keys, made at the first start together with a certificate beside it, FILE.crt, for the other
    operator. peer_identity, peer_certificate: the other one's. peer: the leader's way to the helper, https://HOST:PORT.
    listen: the helper's address for it, HOST:PORT. name: for the dashboard. every: seconds of the timer by which the
    leader asks the helper, and steps close. key_life, board_life: of sealing keys, and of boards."""

    role: str
    name: str = ""
    budget: Budget
    database: str
    counter: str = ""
    identity: str
    peer_identity: str | None = None
    peer_certificate: str | None = None
    peer: str | None = None
    listen: str | None = None
    every: Seconds = Seconds(10.0)
    key_life: Seconds = Seconds(DAY)
    board_life: Seconds = Seconds(7 * DAY)

    def __post_init__(self) -> None:
        checks.one_of(PARTIES, role=self.role)
        self.budget.of_rounds("an aggregator")
        checks.positive(every=self.every)
        if not self.counter:
            raise ValueError("Expected counter, a file in another folder than database, got none.")
        if not SHORTEST <= self.key_life <= LONGEST or not SHORTEST <= self.board_life <= LONGEST:
            raise ValueError(f"Expected key_life and board_life between {SHORTEST} and {LONGEST} seconds, got others.")
        if self.peer_identity is not None and not re.fullmatch("[0-9a-f]{64}", self.peer_identity):
            raise ValueError("Expected peer_identity to be 64 hexadecimal digits, got another.")
        if (self.role == "leader") != (self.peer is not None) or (self.role == "helper") != (self.listen is not None):
            raise ValueError("Expected peer for a leader, and listen for a helper, got another.")
        if self.peer is not None:
            address = urllib.parse.urlsplit(self.peer)
            if address.scheme != "https" or not address.hostname or not address.port:
                raise ValueError("Expected peer to be https://HOST:PORT, got another.")
        if self.listen is not None and not re.fullmatch(r"[^:]+:[0-9]{1,5}|\[[0-9a-fA-F:]+\]:[0-9]{1,5}", self.listen):
            raise ValueError("Expected listen to be HOST:PORT, got another.")

    @property
    def counter_file(self) -> Path:
        return Path(self.counter)


class TwoBandit(BanditSettings, kw_only=True, frozen=True):
    """What is learnt, in the leader's configuration alone. helper_budget: the claim against the helper."""

    kind: str = "two-server-glm"
    database: str = ""
    helper_budget: Budget | None = None


class AggregatorServer(ServerSetting, kw_only=True, frozen=True):
    port: int = 8325


class AggregatorConfig(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    aggregator: AggregatorSetting
    bandit: TwoBandit | None = None
    server: AggregatorServer = AggregatorServer()

    def __post_init__(self) -> None:
        configs.check_server(self.server)
        if (self.aggregator.role == "leader") != (self.bandit is not None):
            raise ValueError("Expected [bandit] in the configuration of a leader alone, got another.")
        outside = not is_loopback(self.server.host) and self.server.tls_certificate is None
        if self.aggregator.role == "leader" and outside:
            raise ValueError(
                "Expected tls_certificate for a leader beyond this machine, got none: reports are sealed, but anybody "
                "would see who sends one."
            )


def read(path: Path) -> AggregatorConfig:
    """ValueError if anything in it is not as it should be. Relative files are beside it."""
    document = configs.toml(path)
    try:
        return convert(document, path.absolute().parent)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def convert(document: dict[str, Any], folder: Path) -> AggregatorConfig:
    """ValueError says in which part of the document a problem is."""
    if "aggregator" not in document:
        raise ValueError("Expected [aggregator] in the configuration, got none.")
    configs.taken(document["aggregator"], AggregatorSetting, "[aggregator]")
    if "bandit" in document:
        configs.taken(document["bandit"], TwoBandit, "[bandit]")
    configs.taken(document.get("server", {}), ServerSetting, "[server]")
    config = configs.taken(document, AggregatorConfig, "the configuration")
    own = configs.below(folder, config.aggregator, *FILES)
    if own.counter_file.resolve().parent == Path(own.database).resolve().parent:
        raise ValueError(
            "[aggregator]: Expected counter in another folder than database, got the same one: whoever restores that "
            "folder restores both, and nobody would notice."
        )
    return msgspec.structs.replace(
        config,
        aggregator=own,
        server=configs.below(folder, config.server, "tls_certificate", "tls_key"),
    )
