"""Arm sets, checked once, C-contiguous float64: by bandits and devices alike, so numpy alone is needed.

Where a schema gives each action a block of coordinates to itself (zeros elsewhere), an arm is a row (z, a) instead: the
numbers within its block, and the number of the block."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from reticent.data import Array, Integers

TOLERANCE = 1e-6  # on the norm, for vectors that were scaled to length 1 in single precision
LEFT = 1e-9  # arms longer than 1 by more than this are cut to 1; contributions are clipped to 1 exactly always

Arms = npt.ArrayLike | Mapping[str, npt.ArrayLike]


class ArmSet(NamedTuple):
    """One user's arms: (K, d) features, or (K, d / blocks + 1) rows (z, a), and their names if they came with names."""

    features: Array
    names: tuple[str, ...] | None


def width(dim: int, blocks: int) -> int:
    """Numbers of a row."""
    return dim if blocks == 1 else dim // blocks + 1


def coordinates(dim: int, blocks: int) -> Array:
    """The rows that have 1 in one coordinate and 0 in the others."""
    if blocks == 1:
        return np.eye(dim)
    own = dim // blocks
    return np.column_stack([np.tile(np.eye(own), (blocks, 1)), np.repeat(np.arange(blocks), own)])


def whole(features: Array, dim: int, blocks: int) -> Array:
    """Rows as vectors, with their zeros."""
    own = dim // blocks
    out = np.zeros((*features.shape[:-1], dim))
    starts = own * features[..., -1:].astype(np.int64)
    np.put_along_axis(out, starts + np.arange(own), features[..., :-1], axis=-1)
    return out


def placed(features: Array, dim: int, blocks: int) -> Array:
    """Vectors (..., dim) as rows: what `whole` undoes. ValueError for a vector that has numbers in several blocks."""
    if blocks == 1:
        return features
    parts = features.reshape(*features.shape[:-1], blocks, dim // blocks)
    used = (parts != 0).any(axis=-1)
    if (used.sum(axis=-1) > 1).any():
        raise ValueError("Expected arms with numbers in one block each, got some in several.")
    place = used.argmax(axis=-1)
    own = np.take_along_axis(parts, place[..., None, None], axis=-2)[..., 0, :]
    return np.concatenate([own, place[..., None]], axis=-1)


def live(offered: Sequence[bool], blocks: int) -> Integers:
    """The blocks of actions that are offered; all of them where actions have no names or no block to themselves."""
    return np.flatnonzero(offered) if offered and blocks > 1 else np.arange(blocks)


def check(arms: Arms, dim: int) -> ArmSet:
    """The arms as an ArmSet, or ValueError: never the value of a feature in the message."""
    names = None
    if isinstance(arms, Mapping):
        names = tuple(arms)
        arms = [arms[name] for name in names] if names else np.empty((0, dim))  # type: ignore[assignment]
    features = as_array(arms)
    if features.ndim != 2 or features.shape[1] != dim:
        raise ValueError(f"Expected arms of shape (K, {dim}), got {features.shape}.")
    if not fits(features):
        problem = problems(features[None])[0]
        if problem:
            raise ValueError(problem)
        features = shortened(features)
    return ArmSet(features, names)


class SchemaLike(Protocol):
    """What makes arms of a person's fields: a schema (reticent.features)."""

    def rows(self, fields: Any, actions: Any, /) -> tuple[tuple[str, ...], Array]: ...
    def placed(self, fields: Any, actions: Any, /) -> tuple[tuple[str, ...], Array]: ...


def asked(schema: SchemaLike | None, dim: int, arms: Any, actions: Any, blocks: int = 1) -> ArmSet:
    """One user's arms, or ValueError: vectors, or what a schema makes of fields, in the form of so many blocks."""
    if schema is not None:
        names, features = (schema.rows if blocks == 1 else schema.placed)(arms, actions)
        return ArmSet(features, names)
    without_actions(actions)
    return check(arms, dim)


def without_actions(actions: Any) -> None:
    if actions is not None:
        raise ValueError("Expected actions= where there is features=Schema(...), got it without.")


def fits(features: Array) -> bool:
    """Whether (K, d) arms need no further look: finite, and none longer than 1 by more than LEFT."""
    return len(features) > 0 and bool(np.einsum("kd,kd->k", features, features).max() <= (1 + LEFT) ** 2)


def as_array(arms: Any) -> Array:
    """C-contiguous float64 of its own, whatever becomes of the caller's array; or ValueError."""
    try:
        given = np.asarray(arms)
        if given.dtype.kind not in "biuf" and given.size:
            raise TypeError
        return np.array(given, dtype=np.float64, order="C")
    except Exception:  # whatever an object does that is asked for numbers
        raise ValueError("Expected arms to be numbers in rows of equal length.") from None


def rows(arms: Any, dim: int) -> tuple[list[Array], list[str | None]]:
    """A batch: (K, dim) features of each user, K their own, and what is wrong with each, None if
    nothing; bad rows are zeros. An array of numbers is (n, K, dim) or a ValueError; of anything else each row is judged
    by itself."""
    numbers = isinstance(arms, np.ndarray) and arms.dtype.kind in "biuf"
    if isinstance(arms, np.ndarray) and arms.dtype.kind == "O":
        arms = arms.tolist()
    listed = isinstance(arms, Sequence) and not isinstance(arms, str | bytes)
    if not listed and not (isinstance(arms, np.ndarray) and arms.ndim):
        raise ValueError(f"Expected arms of shape (n, K, {dim}), got {type(arms).__name__}.")
    try:
        features = as_array(arms)
        if features.ndim == 3 and features.shape[2] == dim:
            wrong = list(problems(features))
            zeros = np.zeros((max(1, features.shape[1]), dim))
            pairs = zip(features, wrong, strict=True)
            return [shortened(row) if problem is None else zeros for row, problem in pairs], wrong
        error = f"Expected arms of shape (n, K, {dim}), got {features.shape}."
    except ValueError as caught:
        error = str(caught)
    if numbers:
        raise ValueError(error)
    out: list[Array] = []
    reasons: list[str | None] = []
    for row in arms:
        try:
            out.append(check(row, dim).features)
            reasons.append(None)
        except ValueError as caught:
            out.append(np.zeros((1, dim)))
            reasons.append(str(caught))
    return out, reasons


def shortened(features: Array) -> Array:
    """Checked (K, d) arms, those that are longer than 1 by more than LEFT cut to 1, each by its own norm."""
    norms = np.sqrt(np.einsum("kd,kd->k", features, features))
    return features if norms.max() <= 1 + LEFT else features / np.maximum(1.0, norms)[:, None]


def problems(features: Array) -> Sequence[str | None]:
    """What is wrong with each user of (n, K, d): None if nothing."""
    if features.shape[1] == 0:
        return ["Expected at least one arm, got none."] * len(features)
    finite = np.asarray(np.isfinite(features).all(axis=(1, 2)))
    with np.errstate(over="ignore", invalid="ignore"):
        squares = np.asarray(np.einsum("nkd,nkd->nk", features, features))
        large = ~np.asarray((squares <= (1 + TOLERANCE) ** 2).all(axis=1))
    out: list[str | None] = [None] * len(features)
    for i in np.flatnonzero(~finite | large):
        out[i] = (
            "Expected arms of Euclidean norm at most 1, got a larger one: divide all by a public bound."
            if finite[i]
            else "Expected finite features, got NaN or infinity."
        )
    return out


def check_mask(available: npt.ArrayLike | None, count: int) -> np.ndarray[tuple[int], np.dtype[np.int64]] | None:
    """Indices of the available arms, or None if all are."""
    if available is None:
        return None
    mask = np.asarray(available)
    if mask.dtype != np.bool_ or mask.shape != (count,):
        raise ValueError(f"Expected a mask of {count} booleans, got {mask.dtype} of shape {mask.shape}.")
    index = np.flatnonzero(mask)
    if not len(index):
        raise ValueError("Expected at least one available arm, got a mask that excludes them all.")
    return index
