"""Reports in two shares: the draft's published vectors, our circuit computed a second time, and forgeries."""

import hashlib
import secrets

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lab_tests.raising import raised
from reticent.errors import BadReport
from reticent_two.vdaf import field_kernel as field
from reticent_two.vdaf.circuit import Bounded
from reticent_two.vdaf.prio3 import Prio3

from . import slow

CONTEXT = b"some application"
NONCE, KEY = bytes(range(16)), bytes(range(32))

TENS, THREES = Bounded(size=10, top=255, chunk=9), Bounded(size=3, top=65535, chunk=7)
# SHA-256 of all that Prio3SumVecWithMultiproof_0.json and _1.json (formats of version 18) say of each report, as
# hexadecimal lines: public share, input shares, verifier shares, verifier message, output shares
PUBLISHED = {
    "913d344dd8dc8909174e88d13488d33f44412b23a18d9011bdd66a34ad0b2ae9": (TENS, 2, list(range(10))),
    "df922a523a81ca9b8559ed2c5c497af14a082ab0382734658cbda5922ac95639": (TENS, 2, [1] * 10),
    "f69a98fee39fb97bd76ca00c8ba4cf2d25e5913b0d80932bae8d8f96a15fbd43": (TENS, 2, [255] * 10),
    "e876e2d63cf3eb7db5a54049afc62326148a6186b4f6006f9a2d08ca12a07172": (THREES, 3, [10000, 32000, 9]),
    "db4588cd37f2e9a14679fa11802f883821a9a7031619d375f423ff0e11dc6cae": (THREES, 3, [19342, 19615, 3061]),
    "83b08b3e92359767db3399f152c05270d3ac8c77ea1afe5f380f00fdb55f4dd0": (THREES, 3, [15986, 24671, 23910]),
}


def verified(prio3, report, key=KEY, nonce=NONCE):
    """Verifier shares, the message, and each aggregator's share of the numbers."""
    kept, said = zip(
        *(prio3.verifier_share(key, i, nonce, report.public, share) for i, share in enumerate(report.shares)),
        strict=True,
    )
    message = prio3.message(said)
    return said, message, [prio3.finished(one, message) for one in kept]


def total(prio3, shares):
    """The sum of shares, as numbers around 0."""
    middle, out = prio3.circuit.centre, []
    for column in zip(*shares, strict=True):
        v = (sum(int(x) for x in column) - middle) % field.P
        out.append(v if v < field.P // 2 else v - field.P)
    return out


def l2(size, bits, longest=None, **chunks):
    largest = 2 ** (bits - 1) - 1
    return Bounded(size=size, top=2**bits - 1, centre=2 ** (bits - 1), longest=longest or largest**2, **chunks)


@pytest.mark.parametrize("digest", PUBLISHED)
def test_published_vectors_byte_for_byte(digest):
    circuit, aggregators, numbers = PUBLISHED[digest]
    prio3 = Prio3(circuit=circuit, context=CONTEXT, aggregators=aggregators)
    report = prio3.shard(numbers, NONCE, bytes(range(64 * aggregators)))
    said, message, out = verified(prio3, report)
    lines = [report.public, *report.shares, *said, message, *(one.astype("<u8").tobytes() for one in out)]
    assert hashlib.sha256("\n".join(line.hex() for line in lines).encode()).hexdigest() == digest
    assert total(prio3, out) == numbers


@pytest.mark.parametrize("circuit", [l2(3, 4, 49, chunk=3, square_chunk=2), l2(5, 6, 500), l2(4, 5, 225, chunk=40)])
def test_our_circuit_is_what_a_slow_one_computes(circuit):
    rng = np.random.default_rng(secrets.randbits(32))
    reference = slow.Circuit(circuit.size, circuit.bits, circuit.longest, circuit.chunk, circuit.square_chunk)
    prio3 = Prio3(circuit=circuit, context=CONTEXT)
    for _ in range(2):
        numbers = drawn(circuit, rng)
        nonce, key, random = rng.bytes(16), rng.bytes(32), rng.bytes(128)
        report = prio3.shard(numbers, nonce, random)
        assert (report.public, *report.shares) == slow.shard(reference, CONTEXT, numbers, nonce, random)
        said, _, out = verified(prio3, report, key, nonce)
        for i, share in enumerate(report.shares):
            assert said[i] == slow.verifier_share(reference, CONTEXT, key, i, nonce, report.public, share)
        assert total(prio3, out) == numbers


def drawn(circuit, rng):
    """Numbers of any length that the circuit allows, the greatest too."""
    v = rng.standard_normal(circuit.size)
    v *= (circuit.longest**0.5 - rng.choice([0.0, 0.5, 3.0])) * rng.choice([1.0, rng.random()]) / np.linalg.norm(v)
    return [int(x) for x in np.clip(np.trunc(v), -circuit.centre, circuit.top - circuit.centre)]


@settings(deadline=None, max_examples=60)
@given(st.integers(2, 14), st.lists(st.integers(-8192, 8191), min_size=1, max_size=12), st.integers(0, 2**32))
def test_what_is_within_bounds_always_passes_and_adds_up(bits, numbers, seed):
    half = 2 ** (bits - 1)
    numbers = [x % (2 * half) - half for x in numbers]
    circuit = l2(len(numbers), bits, max(1, sum(x * x for x in numbers)))  # as long as it may be
    prio3, rng = Prio3(circuit=circuit, context=b""), np.random.default_rng(seed)
    nonce = rng.bytes(16)
    _, _, out = verified(prio3, prio3.shard(numbers, nonce, rng.bytes(128)), rng.bytes(32), nonce)
    assert total(prio3, out) == numbers


def test_longer_numbers_are_refused_by_the_device_and_by_both_aggregators():
    honest = l2(4, 6, 100)
    raised(ValueError, honest.encoded, [10, 1, 0, 0]).match("bounded length")
    raised(ValueError, honest.encoded, [32, 0, 0, 0]).match("within the bounds")
    for numbers in ([10, 1, 0, 0], [31, 31, 31, 31]):  # a device that claims an allowed norm for these
        bits = l2(4, 6, 4096).encoded(numbers)[: honest.size * honest.bits]
        lie = np.concatenate([bits, honest.encoded([10, 0, 0, 0])[bits.size :]])
        raised(BadReport, verified, Prio3(circuit=honest, context=b""), made_of(lie, honest, b"")).match("proof holds")


def made_of(elements, circuit, context):
    """A report, with its proof, of elements that no honest device encodes."""

    class Given(Bounded):
        def encoded(self, numbers):
            return elements.copy()

    settings = {name: getattr(circuit, name) for name in Bounded.__dataclass_fields__}
    device = Prio3(circuit=Given(**settings), context=context)
    return device.shard([0] * circuit.size, NONCE, secrets.token_bytes(128))


FORGED = 300


@pytest.mark.parametrize("many", [FORGED, pytest.param(100_000, marks=pytest.mark.full)])
def test_forged_and_altered_reports_are_refused(many):
    """False alarms: none. A forgery passes with a chance of 2^-58 or less for each proof (docs/vdaf.md)."""
    rng, circuit = np.random.default_rng(secrets.randbits(32)), l2(6, 7)
    prio3, passed = Prio3(circuit=circuit, context=CONTEXT), 0
    for i in range(many):
        if i % 3 == 0:  # elements that are no bits, or a wrong norm, with a proof made for them
            elements = circuit.encoded(drawn(circuit, rng))
            at = rng.integers(elements.size)
            wrong = [2, 3, field.P - 1, int(rng.integers(2, 2**63)), 1 - int(elements[at])]
            elements[at] = wrong[rng.integers(5 if at >= circuit.size * circuit.bits else 4)]
            report = made_of(elements, circuit, CONTEXT)
        else:  # one bit of what is sent is another one
            report = prio3.shard(drawn(circuit, rng), NONCE, rng.bytes(128))
            sent = [bytearray(report.public), *map(bytearray, report.shares)]
            part = sent[rng.integers(3)]
            part[rng.integers(len(part))] ^= 1 << rng.integers(8)
            report = report._replace(public=bytes(sent[0]), shares=tuple(map(bytes, sent[1:])))
        try:
            verified(prio3, report, rng.bytes(32))
            passed += 1
        except BadReport:
            pass
    assert passed == 0


def test_a_report_verifies_in_its_own_context_with_its_own_nonce():
    circuit = l2(5, 6)
    prio3 = Prio3(circuit=circuit, context=CONTEXT)
    report = prio3.shard([1, 2, 3, 4, 5], NONCE, secrets.token_bytes(128))
    verified(prio3, report)
    for other, nonce in (
        (Prio3(circuit=circuit, context=b"another"), NONCE),
        (prio3, bytes(16)),
        (Prio3(circuit=circuit, context=CONTEXT, proofs=2), NONCE),
        (Prio3(circuit=l2(5, 6, chunk=7), context=CONTEXT), NONCE),
    ):
        raised(BadReport, verified, other, report, nonce=nonce)


def test_bad_bytes_are_refused_before_anything_is_computed():
    prio3 = Prio3(circuit=l2(2, 4), context=b"")
    report = prio3.shard([1, -1], NONCE, secrets.token_bytes(128))
    leader, helper = report.shares
    beyond = field.P.to_bytes(8, "little") + leader[8:]
    for share, aggregator in ((leader[1:], 0), (beyond, 0), (helper + b"x", 1)):
        raised(BadReport, prio3.verifier_share, KEY, aggregator, NONCE, report.public, share)
    raised(BadReport, prio3.verifier_share, KEY, 0, NONCE, report.public[1:], leader)
    raised(BadReport, prio3.message, [b""] * 2)
    raised(ValueError, prio3.shard, [1, -1], b"", secrets.token_bytes(128)).match("nonce")


def test_one_share_alone_is_uniform():
    """2000 first elements of the leader's share in 8 cells: chi squared above 40 in one of 10^6 runs."""
    prio3 = Prio3(circuit=l2(1, 4), context=b"")
    for number in (7, -7):
        cells = np.zeros(8)
        for _ in range(2000):
            leader = prio3.shard([number], NONCE, secrets.token_bytes(128)).shares[0]
            cells[int.from_bytes(leader[:8], "little") >> 61] += 1
        assert ((cells - 250) ** 2 / 250).sum() < 40


@given(st.integers(0, field.P - 1), st.integers(0, field.P - 1))
def test_arithmetic_is_that_of_integers(a, b):
    x, y = np.uint64(a), np.uint64(b)
    assert int(field.multiply(x, y)) == a * b % field.P and int(field.add(x, y)) == (a + b) % field.P
    assert int(field.subtract(x, y)) == (a - b) % field.P
    assert a == 0 or int(field.inverse_of(x)) == pow(a, -1, field.P)


def test_soundness_counts_every_way_to_be_lucky():
    circuit = l2(20, 12)  # 18 elements a call, 15 calls in 16 values; 7 squares a call, 3 calls in 4
    assert circuit.soundness == pytest.approx(64 - np.log2(18 + 1 + 2 * 15 + 2 * 3), abs=1e-6)
    assert Bounded(size=10, top=255, chunk=9).soundness == pytest.approx(64 - np.log2(9 + 2 * 15), abs=1e-6)
