"""Canaries: data that occur nowhere else, in every form in which they could be written down."""

import base64
import contextlib
import hashlib
import itertools
import json
import os
import struct
from pathlib import Path

import numpy as np

WORDS = ("person", "request", "arm", "field", "bandit", "available")


def contents(folder, since=0.0):
    """(path, bytes) of files of a running database written since then, without those that it removes meanwhile."""
    for place, _, names in os.walk(folder):
        for path in (Path(place) / name for name in names):
            with contextlib.suppress(FileNotFoundError):
                if path.is_file() and path.stat().st_mtime >= since:
                    yield path, path.read_bytes()


class Canaries:
    """Three features, a reward, and a text for each of WORDS; others for each seed."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.numbers = [float(number) for number in rng.uniform(0.1, 0.5, 3) * [1, -1, 1]]
        self.reward = float(rng.uniform(0.1, 0.9))
        self.texts = {word: f"canary-{word}-{rng.integers(16**8):08x}" for word in WORDS}

    def forms(self, whole=()):
        """(name, bytes). Numbers: as floats of either order, in decimal and hexadecimal digits. Texts: as they are, in
        UTF-16, hexadecimal and base64; person and request also by hashes without a key. `whole`: exact sums in cells,
        by neighbours, of either order, since one small whole number occurs anywhere."""
        out = []
        for number in (*self.numbers, self.reward):
            for order in "<>":
                packed = struct.pack(f"{order}d", number)
                out += [(f"{number} {order}", packed), (f"{number} {order} hex", packed.hex().encode())]
            out.append((f"{number} text", repr(abs(number)).encode()[:15]))
        for name, text in self.texts.items():
            plain = text.encode()
            out += [(name, plain), (f"{name} UTF-16", text.encode("utf-16-le")), (f"{name} hex", plain.hex().encode())]
            out += [(f"{name} base64", base64.b64encode(plain)[:-4])]
        for name in ("person", "request"):
            plain = self.texts[name].encode()
            hashes = [hashlib.new(kind, plain).digest() for kind in ("md5", "sha1", "sha256", "blake2b")]
            hashes += [hashlib.blake2b(plain, digest_size=size).digest() for size in (8, 16, 32)]
            out += [(f"{name} hash", form) for digest in hashes for form in (digest, digest.hex().encode())]
        for pair in itertools.pairwise(map(int, whole)):
            if all(abs(number) > 9 for number in pair):
                packed = [np.array(pair, f"{order}i8").tobytes() for order in "<>"]
                out += [(f"sums {pair}", form) for one in packed for form in (one, one.hex().encode())]
                out.append((f"sums {pair} text", json.dumps(pair)[1:-1].encode()))
        return out

    def found_in(self, files, whole=()):
        """Which canary is in which of (name, bytes)."""
        forms = self.forms(whole)
        return [(name, what) for name, content in files for what, form in forms if form in content]
