"""What opens data that is closed (reticent.data.Raw). Mechanisms alone import this: an import contract holds the rest
of the package off, and a test over the syntax tree the ways around it. Audits may, which plant bugs and look for
them."""

from collections.abc import Callable
from typing import TypeVar

from reticent.data import Raw

T = TypeVar("T")


def opened(raw: Raw[T]) -> T:
    value: T = raw._Raw__value  # type: ignore[attr-defined]
    return value


def sealed(raw: Raw[bytes], seal: Callable[[bytes], bytes]) -> bytes:
    """For a database: seal encrypts."""
    return seal(opened(raw))


def unsealed(text: bytes, unseal: Callable[[bytes], bytes | None]) -> Raw[bytes] | None:
    """Closed again at once; None if the key is destroyed."""
    found = unseal(text)
    return None if found is None else Raw(found)
