"""The dashboard of a role: how it stands, what it can see of people, and what it cannot."""

from typing import Any

from reticent.privacy.relations import REPLACE, REWARDS, of_rewards
from reticent.privacy.words import shuffle_assumes
from reticent_serve.service.markup import Child, Markup, document, tag
from reticent_serve.service.page import LOST, events, tile
from reticent_serve.service.words import count, counted, signed

# By the role and the relation that its releases are for: what it sees of people follows from that.
ABOUT = {
    ("analyzer", REPLACE): "Learns from the sum of each batch, and shows everybody what devices choose by.",
    ("shuffler", REPLACE): "Adds up the reports of a batch and forgets who sent them. People trust it to do so.",
    ("local", REPLACE): "Learns from reports that are private by themselves. Nobody has to be trusted.",
    ("local", REWARDS): (
        "Learns from reports in which the reward alone is private by itself: the arm that was played comes as it is."
    ),
}
SEES = {
    ("analyzer", REPLACE): (
        "For each batch one sum of all its reports, with the noise of all its coins.",
        "How many reports a batch had.",
        "Its own billboard, as everybody.",
    ),
    ("shuffler", REPLACE): (
        "Each report as it comes, for the time of one commit: a person's numbers behind a few coins. Whoever reads a "
        "report and knows the features reads the reward from it, and the sign of a feature nearly always.",
        "From which address it comes, as any server does, unless devices send through a relay. It keeps and logs none.",
        "The sum of the open batch, and random ids by which a retry counts once.",
    ),
    ("local", REPLACE): (
        "Each report: a person's numbers behind noise that protects them by itself, at the epsilon above.",
        "From which address it comes, as any server does. It keeps and logs none.",
    ),
    ("local", REWARDS): (
        "In each report the arm that was played, with the person's features in it, as it is.",
        "The reward behind noise that protects it by itself, at the epsilon above.",
        "From which address a report comes, as any server does. It keeps and logs none.",
    ),
}
NEVER = {
    ("analyzer", REPLACE): (
        "A single report, or who sent one: the shuffler hands on sums alone.",
        "A batch with fewer reports than its noise needs.",
    ),
    ("shuffler", REPLACE): (
        "Reports of an earlier batch: its keys are destroyed when it is closed.",
        "On disk: a report, or anything about its sender.",
    ),
    ("local", REPLACE): (
        "Anybody's features, choice or reward without that noise.",
        "How an earlier report looked: it keeps what it has learnt, and their random ids.",
    ),
    ("local", REWARDS): (
        "Anybody's reward without that noise.",
        "How an earlier report looked: it keeps what it has learnt, and their random ids.",
    ),
}
DISPLAYED = (
    "This holds if devices fetch all arms ahead and nobody observes which of them is displayed: "
    "a billboard can be made so that the displayed arm tells a person's features."
)


def of(status: dict[str, Any], problem: str | None, name: str = "", where: str = "") -> str:
    """The whole page. name: of the bandit, if it has one. where: the address that the page is read at."""
    role, promised = status["role"], (status["role"], status["neighbours"])
    pill = tag("span", *(("Healthy",) if problem is None else ("Needs attention",)), id="health", data_live=True,
               class_="pill good" if problem is None else "pill bad")  # fmt: skip
    trouble = None if problem is None else tag("p", problem, class_="problem", role="alert")
    parts: list[Child] = [
        tag("p", LOST, id="lost", hidden=True, role="alert"),
        tag("div", trouble, id="trouble", data_live=True),
        tag("div", TILES[role](status), class_="tiles", id="tiles", data_live=True),
        tag("section", tag("h2", "What it can see of people"), _list(SEES[promised])),
        tag("section", tag("h2", "What it cannot see"), _list(NEVER[promised]), tag("p", tag("strong", DISPLAYED))),
        _assumed(shuffle_assumes(status["malicious"])) if "malicious" in status else None,
        _assumed(status["assumes"]) if "assumes" in status else None,
        _weights(status["theta"]) if "theta" in status else None,
        events(status["events"]),
    ]
    title = f"{name} · {role}" if name else role.capitalize()
    header = tag(
        "header",
        tag("div", tag("h1", title), pill, class_="title"),
        tag("p", " · ".join(filter(None, (status.get("bandit"), where, ABOUT[promised]))), class_="about"),
    )
    foot = tag("footer", tag("p", "All that is on this page may be shown to anybody."))
    return document(" · ".join(filter(None, (title, where, "reticent"))), header, tag("main", parts), foot)


def _list(lines: tuple[str, ...]) -> Markup:
    return tag("ul", [tag("li", line) for line in lines])


def _assumed(text: str) -> Markup:
    return tag("section", tag("h2", "What epsilon rests on"), tag("p", text))


def _analyzer(status: dict[str, Any]) -> list[Markup]:
    spent, epsilon = status["spent"] or 0.0, status["epsilon"]
    wanted = f"wants {counted(status['wanted'], 'report')}, and takes no fewer than {count(status['minimum'])}"
    return [
        tile("Batches analyzed", count(status["batch"]), status["bandit"]),
        tile("People in them", count(status["users"]), "each in one batch"),
        tile("Next batch", f"number {status['batch']}", wanted),
        tile(
            "Privacy spent",
            f"ε {spent:.3g}",
            f"of at most {epsilon:.3g} at δ {status['delta']:g}, each batch",
            spent,
            epsilon,
        ),
    ]


def _shuffler(status: dict[str, Any]) -> list[Markup]:
    budget = status["budget"]
    limit = f"of at most {budget['epsilon']:.3g} at δ {budget['delta']:g}, its operator's own limit"
    if not status["open"]:
        last = "none yet" if status["batch"] is None else f"number {status['batch']} is closed"
        return [tile("Batch", last, "the next one opens when the analyzer shows it"), tile("Privacy", "-", limit)]
    rule = f"closes at {counted(status['planned'], 'report')}"
    if status["close_after"] is not None:
        rule += f", or after {status['close_after']:g} s with at least {count(status['minimum'])}"
    bar = min(status["reports"], status["planned"]), status["planned"]
    return [
        tile("Open batch", f"number {status['batch']}", rule),
        tile("Reports in it", f"about {count(status['reports'])}", "one for each choice, whatever came of it", *bar),
        tile(
            "Privacy of the batch",
            f"ε {status['epsilon']:.3g}",
            f"recomputed here, {limit}",
            status["epsilon"],
            budget["epsilon"],
        ),
    ]


def _local(status: dict[str, Any]) -> list[Markup]:
    return [
        tile("Reports so far", count(status["users"]), "one for each choice, whatever came of it"),
        tile("Billboards published", count(status["version"]), status["bandit"]),
        tile(
            "Privacy of a reward" if of_rewards(status["neighbours"]) else "Privacy of a report",
            f"ε {status['epsilon']:.3g}",
            f"by itself, at δ {status['delta']:g}; {status['noise']}",
        ),
    ]


TILES = {"analyzer": _analyzer, "shuffler": _shuffler, "local": _local}


def _weights(theta: list[float]) -> Markup:
    rows = [tag("tr", tag("th", f"feature {i + 1}", scope="row"), tag("td", signed(w))) for i, w in enumerate(theta)]
    return tag(
        "section",
        tag("h2", "What it has learnt"),
        tag("div", tag("table", tag("tbody", rows)), id="weights", data_live=True),
    )
