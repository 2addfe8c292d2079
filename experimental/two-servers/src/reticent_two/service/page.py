"""What the dashboards of leader and helper say (service.roles.page)."""

from typing import Any

from reticent.privacy.relations import REPLACE
from reticent_devices.servers import page
from reticent_serve.service.markup import Markup
from reticent_serve.service.page import tile
from reticent_serve.service.words import count
from reticent_two import words

ASSUMES = f"{words.BOTH} {words.REVIEW} {words.PAGE}"
TAKES = "of every report, adds them up, and adds noise of its own to each sum."
BOTH_SEE = (
    "Its own share of each report: numbers that are uniform by themselves, whatever the person did.",
    "Whether the proof of a report holds: honest ones always do.",
    "The noisy sums that both servers release, and the billboard, as everybody.",
)
SEES = {
    "leader": "From which address a report comes, as any server does, and when. It keeps and logs neither.",
    "helper": "Random numbers of reports, in the jobs that the leader sends at a timer; no address.",
}


def _aggregator(status: dict[str, Any]) -> list[Markup]:
    if status["step"] is None:
        state = "The era is retired" if status["retired"] else "No era has begun"
        return [tile("State", state, "a new one needs a new database and counter file" if status["retired"] else "")]
    steps = status["step"], status["steps"]
    return [
        tile("Steps released", count(status["step"]), f"of {count(status['steps'])}; each has one noise", *steps),
        tile("Reports in them", count(status["users"]), f"of {count(status['bytes'])} bytes each, one for each choice"),
        *(
            tile(f"Privacy against the {who}", f"ε {status['epsilon'][party]:.3g}", f"at δ {status['delta'][party]:g}")
            for who, party in (("operator", "leader"), ("helper", "helper"))
        ),
    ]


for role, other, share in (("leader", "helper", "one share"), ("helper", "leader", "the other share")):
    page.ABOUT[role, REPLACE] = f"Takes {share} {TAKES}"
    page.SEES[role, REPLACE] = (SEES[role], *BOTH_SEE)
    page.NEVER[role, REPLACE] = (
        f"The {other}'s share of a report, which is sealed to the {other}: with both shares it would read the report.",
        f"A sum without the {other}'s noise.",
    )
    page.TILES[role] = _aggregator
