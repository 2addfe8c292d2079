"""`reticent check`: what is wrong with a sample of requests, field by field, and how many people it takes. It opens no
database and writes nothing; values of the sample are shown, so that its people are not protected."""

import json
import shutil
import sys
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from reticent import checks
from reticent.cli.output import progress, write_json
from reticent.core.validation import Validator, check_named
from reticent.features.schema import Schema
from reticent_serve.cli import asked
from reticent_serve.cli.sample import EXAMPLES, PROBLEMS, FieldCounts, Sample
from reticent_serve.planning import counsel, trials
from reticent_serve.planning.trials import Question
from reticent_serve.service import bodies, config, offers
from reticent_serve.service.config import BanditSetting

ABOUT = (
    "Values of the sample are shown. It has to be made up, public, or of people who will not be served: what is said "
    "here of its people is not private."
)
WHOLE = ("context", "arms")  # a line with one of these keys is a whole body of `choose`, else it is a context
LINES = 5  # numbers of lines that are shown with what they are refused by


class Looked:
    """What was found. refused: by which sentence, and in which lines."""

    def __init__(self, setting: BanditSetting, name: str) -> None:
        bandit = config.build(setting, name)
        self._setting, self._validator = setting, Validator.of(bandit.one_pass(exact=True))
        self._limited = self._validator.limited
        self.schema: Schema | None = self._validator.schema
        self.sample = Sample({} if self.schema is None else {**self.schema.context, **self.schema.action})
        self.refused: dict[str, list[int]] = {}
        self.lines = self.arms = 0

    def line(self, text: bytes) -> None:
        self.lines += 1
        try:
            self._look(text)
        except ValueError as error:
            self.refused.setdefault(bodies.expected(error), []).append(self.lines)

    def _look(self, text: bytes) -> None:
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise ValueError("Expected a JSON object in each line.")
        named = set() if self.schema is None else self.schema.context.keys()
        whole = any(key in found and key not in named for key in WHOLE)
        body = found if whole else {"context": found}
        self._count(body)
        most = offers.most_containers(self.schema, self._setting.most_arms)
        given = bodies.choose(text if whole else json.dumps(body).encode(), most, offers.fields(self.schema))
        arms, actions, names = offers.offered(given, self.schema, self._setting.most_arms)
        offer = self._validator.offer(
            arms, offers.mask(given.available, names), None if actions is bodies.UNSET else actions
        )
        self.arms = max(self.arms, len(offer.features))
        if whole:
            check_named(None if given.person is bodies.UNSET else given.person, limited=self._limited)

    def _count(self, body: Mapping[str, Any]) -> None:
        if self.schema is None:
            return
        context, actions = body.get("context"), body.get("actions")
        if isinstance(context, dict):
            self.sample.add(context, self.schema.context)
        for one in actions.values() if isinstance(actions, dict) else ():
            if isinstance(one, dict):
                self.sample.add(one, self.schema.action)

    @property
    def wrong(self) -> list[str]:
        """What is, in words."""
        fields = [name for name, counts in self.sample.counts.items() if counts.wrong]
        refused = sum(map(len, self.refused.values()))
        return [*fields, *[f"{refused} line{'s' * (refused > 1)} that would be refused"] * (refused > 0)]


def show(path: Path, sample: Path, name: str | None, *, as_json: bool) -> bool:
    """Whether nothing is wrong."""
    bandits = config.read(path).bandits
    if name is None and len(bandits) > 1:
        raise ValueError(f"Expected the name of one of the bandits ({', '.join(bandits)}), got none.")
    name = name or next(iter(bandits))
    checks.name("a bandit of this configuration", name, bandits)
    looked = Looked(bandits[name], name)
    for line in _lines(sample):
        looked.line(line)
    if not looked.lines:
        raise ValueError(f"Expected requests in {sample}, one in each line, got none.")
    planned = _plan(path, name, looked, bandits[name])
    if as_json:
        write_json(document(looked, name, planned))
    else:
        head = f"check: {name} of {path}, {looked.lines} line{'s' * (looked.lines > 1)} of {sample}"
        sys.stdout.write(text(looked, head, planned) + "\n")
    return not looked.wrong


def _lines(sample: Path) -> Iterator[bytes]:
    try:
        with sample.open("rb") as file:
            yield from (line for line in file if line.strip())
    except OSError as error:
        raise ValueError(f"Expected requests in {sample}, got: {error.strerror}.") from None


def text(looked: Looked, head: str, planned: list[str]) -> str:
    from reticent.experiments.table import WIDTH, to_text

    width = min(WIDTH, shutil.get_terminal_size((WIDTH, 0)).columns)
    refused = [f"Refused, {_places(where)}: {what}" for what, where in looked.refused.items()]
    verdict = f"Wrong: {', '.join(looked.wrong)}." if looked.wrong else "Nothing is wrong."
    others = [name for name, counts in looked.sample.counts.items() if counts.wrong and not counts.strict]
    if others:
        verdict += f" Not strict: {', '.join(others)}. With strict = true such requests are refused, and you are told."
    tables = [to_text(_table(looked.sample.counts))] if looked.sample.counts else []
    paragraphs = [head, ABOUT, *refused, verdict, *planned]
    wrapped = [textwrap.fill(paragraph, width) for paragraph in paragraphs]
    return "\n\n".join([*wrapped[:2], *tables, *wrapped[2:]])


def _places(lines: list[int]) -> str:
    more = f" and {len(lines) - LINES} more" if len(lines) > LINES else ""
    return f"line{'s' * (len(lines) > 1)} {', '.join(map(str, lines[:LINES]))}{more}"


def _table(counts: Mapping[str, FieldCounts]) -> Any:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    out = Table(box=SIMPLE_HEAD, pad_edge=False)
    for column in ("field", "values", "null", *PROBLEMS, "for example"):
        out.add_column(column, justify="left" if column in ("field", "for example") else "right", no_wrap=True)
    for name, found in counts.items():
        values = found.people - found.none - found.problems["missing"]
        numbers = (values, found.none, *(found.problems[problem] for problem in PROBLEMS))
        out.add_row(name + " (strict)" * found.strict, *map(str, numbers), ", ".join(_examples(found)))
    return out


def _examples(found: FieldCounts) -> list[str]:
    return [value if len(value) <= 24 else value[:24] + "..." for value, _ in found.examples.most_common(EXAMPLES)]


def document(looked: Looked, name: str, planned: list[str]) -> dict[str, Any]:
    fields = {
        field: {
            "strict": found.strict,
            "lines": found.people,
            "null": found.none,
            **{problem.replace(" ", "_"): found.problems[problem] for problem in PROBLEMS},
            "examples": _examples(found),
            "wrong": found.wrong,
        }
        for field, found in looked.sample.counts.items()
    }
    refused = [{"lines": lines, "error": error} for error, lines in looked.refused.items()]
    wrong = bool(looked.wrong)
    return {
        "bandit": name,
        "about": ABOUT,
        "lines": looked.lines,
        "fields": fields,
        "refused": refused,
        "wrong": wrong,
        "plan": planned,
    }


def _plan(path: Path, name: str, looked: Looked, setting: BanditSetting) -> list[str]:
    """What `reticent plan` says, in short."""
    if looked.schema is None and not looked.arms:
        return []
    try:
        if looked.schema is None:
            said, budget = f"--dim {setting.dim} --arms {looked.arms}", setting.budget
            question = Question(
                dim=setting.dim,
                arms=looked.arms,
                epsilon=budget.epsilon,
                delta=budget.delta,
                rounds_per_person=budget.rounds,
            )
        else:
            said, question = f"--schema {path}", asked.of_schema(path, name=name).question
    except ValueError as error:
        return [f"Plan: none for this schema. {error}"]
    with progress("plan") as report:
        plan = trials.run(question, trials.QUICK, report)
    return [f"Plan, as reticent plan {said} --quick says it; without --quick it knows more:", *counsel.words(plan)]
