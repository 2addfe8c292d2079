"""Reports in two shares are Python's, byte for byte, and aggregators accept them."""

import secrets

from numpy.random import default_rng

from devices_tests.js import vectors
from reticent_two.vdaf.circuit import Bounded
from reticent_two.vdaf.prio3 import Prio3

from .test_js import run

CIRCUITS = [
    {"size": 3, "top": 15, "centre": 8, "longest": 49},
    {"size": 20, "top": 4095, "centre": 2048, "longest": 2047**2},
    {"size": 65, "top": 4095, "centre": 2048, "longest": 2047**2},
    {"size": 10, "top": 255},
]


def test_shares_are_pythons_byte_for_byte(tmp_path):
    rng = default_rng(secrets.randbits(32))
    cases, expected = [], []
    for settings in CIRCUITS * 3:
        circuit = Bounded(**settings)
        longest = settings.get("longest", circuit.top**2)
        signs = rng.choice([-1, 1] if circuit.centre else [1], circuit.size)
        numbers = (signs * int((longest / circuit.size) ** 0.5 * rng.random())).tolist()
        prio3 = Prio3(circuit=circuit, context=rng.bytes(int(rng.integers(64))))
        nonce, random = rng.bytes(16), rng.bytes(128)
        report = prio3.shard(numbers, nonce, random)
        told = {name: vectors.text(v) for name, v in (("context", prio3.context), ("nonce", nonce), ("random", random))}
        cases.append({"circuit": settings, "numbers": numbers, "wrong": [circuit.top + 1] * circuit.size, **told})
        expected.append([report.public.hex(), *(share.hex() for share in report.shares)])
    told = run("shared", vectors.save(cases, tmp_path / "cases.json"))
    assert [[one["public"], one["leader"], one["helper"]] for one in told] == expected
    assert all("within the bounds of the circuit" in one["refused"] for one in told)
