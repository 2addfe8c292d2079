"""What wheels are made to run with, as a bill of materials: python -m tools.sbom WHEEL [OTHERS] LOCK > bill.cdx.json

CycloneDX 1.6, https://cyclonedx.org/docs/1.6/json. What the wheel's metadata requires, with its extras, and what that
requires in turn, in the versions of the lock, which tests ran with. From the same files it is the same bytes. An extra
that the lock does not know (ray) is left out."""

import email
import hashlib
import json
import os
import re
import sys
import uuid
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PIN = re.compile(r"^([a-z0-9.-]+)==([^ ;\\]+)")
HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
EARLIEST = "1580601600"  # of SOURCE_DATE_EPOCH where it is not set, as hatchling has it


class Pinned(NamedTuple):
    """A package of the lock: its version, the digests of its files, and which packages require it. A package may have
    several versions there, for several versions of Python."""

    version: str
    hashes: list[str]
    via: list[str]


Lock = Mapping[str, Sequence[Pinned]]


def locked(text: str) -> dict[str, list[Pinned]]:
    """The packages of a lock that uv wrote, by name."""
    out: dict[str, list[Pinned]] = {}
    for line in text.splitlines():
        found = PIN.match(line)
        if found:
            last = Pinned(found[2], [], [])
            out.setdefault(canonicalize_name(found[1]), []).append(last)
        elif line.strip() and out:
            last.hashes.extend(HASH.findall(line))
            word = line.strip().removeprefix("#").strip().removeprefix("via").strip()
            if line.strip().startswith("#") and word:
                last.via.append(canonicalize_name(word.split(" ")[0]))
    return out


def required(metadata: Iterable[str], lock: Lock, more: Iterable[str] = ()) -> dict[str, bool]:
    """Name -> whether it is needed without extras, for all that the requirements lead to. more: those of other wheels,
    which are optional."""
    given = [Requirement(line) for line in metadata]
    beside = [canonicalize_name(Requirement(line).name) for line in more]
    out: dict[str, bool] = {}
    for optional in (True, False):
        left = [r.name for r in given if optional or r.marker is None or r.marker.evaluate({"extra": ""})]
        left += beside * optional
        while left:
            name = canonicalize_name(left.pop())
            if name in lock and out.get(name) is not (not optional):
                out[name] = not optional
                left += _children(name, lock)
    return out


def about_of(wheel: Path) -> Any:
    """Its metadata."""
    with zipfile.ZipFile(wheel) as file:
        [path] = [name for name in file.namelist() if name.endswith(".dist-info/METADATA")]
        return email.message_from_bytes(file.read(path))


def bill(wheel: Path, lock: Lock, others: Sequence[Path] = ()) -> dict[str, Any]:
    """The document. others: wheels that are installed beside it, or not."""
    about = about_of(wheel)
    more = [line for other in others for line in about_of(other).get_all("Requires-Dist") or []]
    needed = required(about.get_all("Requires-Dist") or [], lock, more)
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    own = f"pkg:pypi/{about['Name']}@{about['Version']}"
    at = datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", EARLIEST)), UTC)
    direct = {canonicalize_name(Requirement(line).name) for line in about.get_all("Requires-Dist") or []}
    depends = {own: _purls(direct & needed.keys(), lock)}
    for name in needed:
        depends |= dict.fromkeys(_purls([name], lock), _purls(_children(name, lock), lock))
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, digest)}",
        "version": 1,
        "metadata": {
            "timestamp": at.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": {
                "type": "library",
                "bom-ref": own,
                "name": about["Name"],
                "version": about["Version"],
                "purl": own,
                "licenses": [{"expression": about["License-Expression"]}],
                "hashes": [{"alg": "SHA-256", "content": digest}],
            },
        },
        "components": [_component(name, one, core) for name, core in sorted(needed.items()) for one in lock[name]],
        "dependencies": [{"ref": ref, "dependsOn": others} for ref, others in sorted(depends.items())],
    }


def _component(name: str, pinned: Pinned, core: bool) -> dict[str, Any]:
    """With the digests of its files for every platform: an installer takes one of them."""
    purl = f"pkg:pypi/{name}@{pinned.version}"
    files = [{"alg": "SHA-256", "content": digest} for digest in pinned.hashes]
    url = f"https://pypi.org/project/{name}/{pinned.version}/"
    return {
        "type": "library",
        "bom-ref": purl,
        "name": name,
        "version": pinned.version,
        "scope": "required" if core else "optional",
        "purl": purl,
        "externalReferences": [{"type": "distribution", "url": url, "hashes": files}],
    }


def _children(name: str, lock: Lock) -> list[str]:
    """What a package requires."""
    return [child for child, versions in lock.items() if any(name in one.via for one in versions)]


def _purls(names: Iterable[str], lock: Lock) -> list[str]:
    return sorted(f"pkg:pypi/{name}@{one.version}" for name in names for one in lock[name])


if __name__ == "__main__":
    *wheels, lock = map(Path, sys.argv[1:])
    print(json.dumps(bill(wheels[0], locked(lock.read_text()), wheels[1:]), indent=1))
