"""What `reticent-two` does."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from reticent.privacy.budget import Budget
from reticent.process import stopping_at_once
from reticent_devices.bandits.embedded import Embedded
from reticent_devices.servers.app import RoleApplication
from reticent_devices.servers.role import Events
from reticent_serve.service import server
from reticent_serve.service.config import ServerSetting
from reticent_two.aggregators.agreement import Agreement
from reticent_two.bandits.glm import TwoServerGLM
from reticent_two.roles.identity import Identities
from reticent_two.roles.task import HELPER, LEADER
from reticent_two.service import files, peer, settings
from reticent_two.service.leader import Leader
from reticent_two.service.peer import Helper, PeerServer
from reticent_two.service.role import HelperRole, LeaderRole
from reticent_two.service.settings import AggregatorConfig


def run(path: Path, *, port: int | None, say: Callable[[str], None]) -> None:
    """Serves one aggregator as its configuration says, until SIGTERM."""
    config = settings.read(path)
    setting: ServerSetting = config.server
    if port is not None:
        setting = msgspec.structs.replace(setting, port=port)
    app = application(config, say)
    say("Compiling and opening: aggregator")
    with stopping_at_once():
        warm()

    def started(address: str) -> None:
        say(f"Dashboard: {address}/dashboard")
        say(f"Serving on {address}")

    server.run(app, setting, started)


def warm() -> None:
    """Compile all that a report and a step need."""
    bandit = Embedded(TwoServerGLM(2, Budget(1.0, 1e-6), first=1, horizon=4))
    for _ in range(2):
        bandit.observe(bandit.choose([[0.5, 0.0], [0.0, 0.5]]), 1.0)


def application(config: AggregatorConfig, say: Callable[[str], None] = lambda text: None) -> Any:
    """Not open yet. The keys are made, if there are none; ValueError says what the other operator has to send."""
    own = config.aggregator
    mine = files.opened(Path(own.identity))
    say(f"The identity of this {own.role}, for applications and for the other operator: {mine.public.hex()}")
    say(f"Its certificate, for the other operator: {mine.certificate}")
    if own.peer_identity is None or own.peer_certificate is None or not Path(own.peer_certificate).exists():
        raise ValueError("Expected peer_identity and peer_certificate, which the other operator sends, got none yet.")
    party = LEADER if own.role == "leader" else HELPER
    both = [mine.public, bytes.fromhex(own.peer_identity)]
    agreement = Agreement(
        party,
        mine.private,
        Identities(*(both if party == LEADER else both[::-1])),
        own.budget,
        database=Path(own.database),
        counter=own.counter_file,
        lifetime=int(own.key_life),
    )
    tls = peer.context(mine, Path(own.peer_certificate), server=party == HELPER)
    if party == LEADER:
        assert own.peer is not None and config.bandit is not None
        work = Leader(own, config.bandit, agreement, Helper(own.peer, tls))
        leader = LeaderRole(work, config.server.waiting)
        return RoleApplication(leader, config.server, (), {"/task": leader.task}, name=own.name)
    assert own.listen is not None
    helper = HelperRole(agreement, Events())
    helper.server = PeerServer(own.listen, tls, helper.handlers)
    return RoleApplication(helper, config.server, name=own.name)
