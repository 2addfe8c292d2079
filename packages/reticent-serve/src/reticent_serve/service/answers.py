"""What is asked first of a bandit by fields: is it better, for whom, how sure is that, and how long will it take. All
answers follow from released sums and public numbers; where something is not known yet, they say so."""

from typing import Any

from reticent.models.segments import FieldSegment, Segments
from reticent_serve.service import charts
from reticent_serve.service.history import Summary
from reticent_serve.service.markup import Child, Markup, tag
from reticent_serve.service.words import Scale, counted, date, percent

MOST = 3  # of those for whom another action is clearly better
SURE = (
    "The intervals in brackets are meant to hold the truth with a probability of {level}. In simulations 87 to 100 % "
    "of them did; the others mostly understated what choosing for each person adds. All of this is the bandit's own "
    "estimate{trial}. Who comes is known from sums that were released with noise, as if fields had nothing to do with "
    "each other."
)
TRIAL = " and no trial: nobody was set aside to compare with", ", and what the holdout says stands above"
PLAN = (
    "Each one makes intervals somewhat narrower. How many people it takes in all depends on how much tastes differ: ",
    tag("code", "reticent plan --schema"),
    " simulates it for fields and actions like these.",
)
UNKNOWN = "Not known yet: nothing has been released."


def section(learnt: Summary, status: dict[str, Any], rewards: tuple[float, float], over: bool) -> Markup:
    said, trial = learnt.segments, status["trial"] is not None
    question = "Is choosing for each person better?" if trial else "Is it better?"
    if said is None:
        words = UNKNOWN if status["beginning"] is None else f"Not known yet. {status['beginning']}"
        answers = [_answer(question, tag("p", words, class_="verdict"))]
    else:
        scale = Scale.of(rewards, said.random.value)
        answers = [
            _answer(question, better(said, learnt.actions, scale)),
            _answer("For whom?", tag("p", whom(said, learnt.actions, scale))),
            _answer("How sure is that?", tag("p", SURE.format(level=percent(said.level), trial=TRIAL[trial]))),
            _answer("How long still?", tag("p", how_long(status, over), None if over else PLAN)),
        ]
    return tag("section", tag("div", answers, class_="answers", id="answers", data_live=True))


def _answer(question: str, *answer: Child) -> Markup:
    return tag("div", tag("h2", question), tag("div", *answer))


def better(said: Segments, names: tuple[str, ...], scale: Scale) -> list[Child]:
    """A verdict, and the three mean rewards that it compares."""
    single = names[said.best]
    adds, gains = scale.apart(*said.adds), scale.apart(*said.gains)
    if said.adds.low > 0:
        verdict = (
            f"Yes. In its own estimate, choosing for each person brings {adds} more than “{single}” for everybody."
        )
    elif said.gains.low > 0:
        verdict = f"Better than random actions: yes, by {gains}. Better than “{single}” for everybody: not clear yet, "
        verdict += f"by {adds}."
    else:
        verdict = f"Not clear yet: by {gains} better than random actions, in its own estimate."
    rows = [("Random actions", said.random), (f"“{single}” for everybody", said.single), ("As it chooses", said.chosen)]
    what = "Share of the largest reward that people bring on average; for rewards of 0 or 1, of people who answer."
    if not scale.percent:
        what = "Average reward of a person."
    return [tag("p", verdict, class_="verdict"), charts.three(rows, scale), tag("p", what, class_="note")]


def whom(said: Segments, names: tuple[str, ...], scale: Scale) -> str:
    """For whom another action than the best single one is better; those first for whom that is worth most."""
    found = sorted(
        ((one.shares[v] * one.instead[v].value, one, v) for one in said.fields for v in range(len(one.labels))),
        key=lambda each: -each[0],
    )

    def told(one: FieldSegment, v: int) -> str:
        best, single = (scale.reward(float(one.mean[v, a])) for a in (one.best[v], said.best))
        return f"{one.name} {one.labels[v]}: “{names[one.best[v]]}” ({best} instead of {single})"

    clear = [(one, v) for _, one, v in found if one.instead[v].low > 0]
    if clear:
        more = len(clear) - MOST
        rest = f"; and for {counted(more, 'more value')} below" if more > 0 else ""
        return (
            f"Clearly another action than “{names[said.best]}” for {'; '.join(told(*c) for c in clear[:MOST])}{rest}."
        )
    first, one, v = found[0] if found else (0.0, None, 0)
    if one is None or first <= 0:
        return f"For nobody: “{names[said.best]}” looks best for each value of each field."
    beyond = scale.apart(*one.instead[v])
    return f"For no value of a field clearly yet. It leans most to {told(one, v)}; the difference is {beyond}."


def how_long(status: dict[str, Any], over: bool) -> str:
    """What is public: when the next release comes."""
    if over:
        return "No further release comes: what stands here stays."
    left = status["next_release_after"] - status["choices"]
    due = f"after {counted(left, 'more choice')}" if left > 0 else "as soon as its choices count"
    if status["due_at"] is not None:
        due = f"at about {date(status['due_at'])}"
    return f"The next release, from {counted(status['next_release_after'], 'choice')}, comes {due}. "
