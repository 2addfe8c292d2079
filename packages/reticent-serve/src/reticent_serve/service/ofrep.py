"""OpenFeature's remote evaluation protocol (OFREP): a bandit whose schema names its actions is a flag, whose values are
texts, and each evaluation is a choice.

How many choices there are is public. So which evaluation is a new choice depends on who asks, when, and for which
`requestId`, and never on a person's fields: a number that is taken only if a field changed would tell of that field,
without noise."""

import contextlib
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec

from reticent.core.validation import canonical
from reticent.errors import RefusedRequest
from reticent_serve.holders.requests import StoredChoice
from reticent_serve.service import bodies, hot
from reticent_serve.service.errors import Reply
from reticent_serve.service.groups import Readers
from reticent_serve.service.keys import Asker
from reticent_serve.service.served import Served

T = TypeVar("T")

START = "/ofrep/v1/evaluate/flags/"
MOST = 1000  # lists and objects of a context
PERSON, REQUEST = "targetingKey", "requestId"  # of a context, and never fields
PARSE, MISSING, CONTEXT, UNKNOWN, GENERAL = (
    *("PARSE_ERROR", "TARGETING_KEY_MISSING", "INVALID_CONTEXT"),
    *("FLAG_NOT_FOUND", "GENERAL"),
)
CODES = {422: (400, CONTEXT), 404: (404, UNKNOWN), 409: (400, GENERAL), 410: (400, GENERAL)}  # what clients understand


class EvaluateBody(msgspec.Struct):
    """context: `targetingKey`, who asks; `requestId`, an id of yours that has one answer; and attributes, of which each
    flag takes those that are fields of its schema, and no other."""

    context: dict[str, Any] = {}


class Evaluated(msgspec.Struct):
    """value, variant: the name of the action. reason: SPLIT before the first release, TARGETING_MATCH later.
    metadata: the choice's id and propensity."""

    key: str
    value: str
    variant: str
    reason: str
    metadata: dict[str, str | float]


class Failed(msgspec.Struct, rename="camel"):
    """error_details: the rule that was broken."""

    error_code: str
    error_details: str
    key: str


class FlagProblem(Reply):
    """A refusal with a code of the protocol's."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(400, text)
        self.code = code


def is_flag(one: Served) -> bool:
    """Whether a context is enough for a choice: its actions have names, and no fields that a request would bring."""
    schema = one.stored.features
    holdout = one.stored.one_pass.holdout
    if schema is None or not schema.actions or schema.action or (holdout is not None and holdout.policy == "given"):
        return False
    return PERSON not in schema.context and REQUEST not in schema.context


class FlagsAsked:
    """One request. A large body is read, and checked, beside the loop."""

    def __init__(self, served: Mapping[str, Served], asker: Asker, body: bytes, readers: Readers) -> None:
        self._served, self._asker, self._body, self._readers = served, asker, body, readers

    async def one_flag(self, key: str) -> bytes:
        """A choice each time, unless the context has a `requestId`."""
        one = self._served.get(key)
        if one is None or not is_flag(one):
            raise Reply(404, "Expected the name of a bandit whose schema names its actions.")
        self._asker.take("choose", 1)
        return bodies.encode(await self._evaluated(one, await self._context(one)))

    async def _evaluated(self, one: Served, context: dict[str, Any]) -> Evaluated:
        try:
            request = await self._beside(lambda: one.prepare(_choice(one, context), self._asker.name))
        except (ValueError, Reply) as error:
            await self._refused(one, error, _named(context))
            raise
        return _written(one, await hot.decided(one, request))

    async def _context(self, one: Served) -> dict[str, Any]:
        """Of the body."""
        try:
            return await self._beside(lambda: read(self._body))
        except (ValueError, Reply) as error:
            await self._refused(one, error, self._body if PERSON.encode() in self._body else None)
            raise

    async def _refused(self, one: Served, error: Exception, request: str | bytes | None) -> None:
        """With a holdout what is refused has a number, too: see Stored.unreadable."""
        if one.stored.one_pass.holdout is not None:
            with contextlib.suppress(RefusedRequest):
                await hot.decided(one, one.stored.unreadable(error, self._asker.name, request))

    async def _beside(self, work: Callable[[], T]) -> T:
        return await self._readers("choose", len(self._body), work)


def read(body: bytes) -> dict[str, Any]:
    """The context of a request; FlagProblem for what is none. Attributes of other flags may be anything."""
    bodies.check_containers(body, MOST)
    try:
        found = msgspec.json.decode(body)
        context, once = msgspec.convert(found, EvaluateBody).context, bodies.each_once(found, body)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        raise FlagProblem(PARSE, 'Expected JSON of the form {"context": {name: value}}.') from None
    if not once:
        raise FlagProblem(PARSE, "Expected each key once.")
    return context


def _named(context: dict[str, Any]) -> str | None:
    """What tells a choice from others, whatever its fields are: the answer to it is kept under this name. None: nothing
    that can be read."""
    try:
        who = msgspec.convert(None if _missing(context) else context[PERSON], bodies.Text | None)
        request = msgspec.convert(context.get(REQUEST), bodies.Text | None)
    except msgspec.ValidationError:
        return None
    if request is None:
        return None
    named = "" if who is None else canonical(who).decode("utf-8", "surrogatepass")
    return repr((START, named, request))


def _choice(one: Served, context: dict[str, Any]) -> bodies.ChooseBody:
    """What is asked for, as the route `choose` has it."""
    schema = one.stored.features
    assert schema is not None
    try:
        who = msgspec.convert(None if _missing(context) else context[PERSON], bodies.Text | None)
        msgspec.convert(context.get(REQUEST), bodies.Text | None)
        fields = msgspec.convert({name: context.get(name) for name in schema.context}, dict[str, bodies.Value])
    except msgspec.ValidationError:
        texts = f"{PERSON} and {REQUEST} to be texts of 1 to 255 characters"
        raise FlagProblem(
            CONTEXT, f"Expected {texts}, and fields to be numbers, texts, lists of texts or null."
        ) from None
    limited = one.setting.budget.unit is not None
    if who is None and limited:
        raise FlagProblem(MISSING, f"Expected {PERSON} in the context: this bandit limits a person's rounds.")
    body = bodies.ChooseBody(context=fields)
    if limited:
        body.person = who
    request = _named(context)
    if request is not None:
        body.request = request
    return body


def _missing(context: dict[str, Any]) -> bool:
    return context.get(PERSON) in (None, "")


def _written(one: Served, choice: StoredChoice) -> Evaluated:
    found = one.chosen(choice, True)
    assert found.name is not None
    reason = "TARGETING_MATCH" if choice.version else "SPLIT"
    metadata: dict[str, str | float] = {"id": found.id}
    if isinstance(found.propensity, float):
        metadata["propensity"] = found.propensity
    return Evaluated(one.name, found.name, found.name, reason, metadata)


def failure(found: Reply, key: str) -> Failed:
    code = found.code if isinstance(found, FlagProblem) else CODES.get(found.status, (found.status, GENERAL))[1]
    return Failed(code, found.text, key)


def status(found: Reply) -> int:
    return CODES.get(found.status, (found.status, GENERAL))[0]
