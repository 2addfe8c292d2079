"""The JavaScript device as it is packed: with the same people and random bytes it makes Python's reports to the byte,
and it refuses what Python's refuses, in Node and in Chromium. Every run has another seed, which a failure names.

How likely is a false alarm? Sums in another order differ in the last digit; that moves a number of a report with
probability 10^-7 at most (the last number of a cap's vector, where it is nearly 0), mostly 10^-12."""

import base64
import gzip
import json
import re
import secrets

import pytest

from devices_tests.js import node, vectors
from devices_tests.roles.boards import published
from reticent_devices.roles import shuffle

SEED = secrets.randbits(32)


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    """(a file with people, billboards and random bytes; Python's reports)"""
    with pytest.MonkeyPatch.context() as patch:
        made, expected = vectors.reports(SEED, patch)
    return vectors.save(made, tmp_path_factory.mktemp("given") / "reports.json"), made, expected


@pytest.fixture(scope="module")
def damaged(tmp_path_factory):
    """The same of damaged billboards."""
    with pytest.MonkeyPatch.context() as patch:
        made, expected = vectors.damaged(SEED, patch)
    return vectors.save(made, tmp_path_factory.mktemp("given") / "damaged.json"), made, expected


def test_reports_are_identical(package, given, run):
    file, made, expected = given
    told = run(package, "reports", file)
    assert len(told) >= 700
    wrong = [i for i, (one, other) in enumerate(zip(told, expected, strict=True)) if one != other]
    assert not wrong, (SEED, len(wrong), made["cases"][wrong[0]], told[wrong[0]], expected[wrong[0]])


def test_hostile_billboards_are_refused_alike(package, damaged, run):
    """And where one is accepted, all people draw as many random bytes and send as long reports as in Python."""
    file, made, expected = damaged
    told = run(package, "damaged", file)
    for one, other, board in zip(told, expected, made["boards"], strict=True):
        assert one == other, (SEED, base64.b64decode(board["board"])[:3000])
    refused = sum(one == "BadBillboard" for one in told)
    assert 0.3 * len(told) < refused < 0.95 * len(told), "a fuzz that is always refused, or never, tests nothing"


def test_the_device_is_below_12_kilobytes(package):
    assert len(gzip.compress((package / "index.js").read_bytes(), 9)) < 12_000
    manifest = json.loads((package.parent / "package.json").read_text())
    assert not {"dependencies", "peerDependencies", "optionalDependencies"} & set(manifest)


def test_the_package_is_found_by_its_name_and_has_what_its_types_say(package):
    for name in ("index", "features", "openfeature", "outbox"):
        types = (package.parent / "types" / f"{name}.d.ts").read_text()
        stated = re.findall(r"^export (?:class|function|const) (\w+)", types, re.MULTILINE)
        module = "reticent-device" if name == "index" else f"reticent-device/{name}"
        script = f'import * as all from "{module}"; console.log(Object.keys(all).join(" "));'
        told = node.run("node", "--input-type=module", "-e", script, cwd=package.parents[2]).split()
        assert stated and set(stated) <= set(told), (name, stated, told)


def test_what_is_no_bytes_is_no_billboard(package):
    script = """import { LocalClient, ShuffleClient } from "reticent-device";
for (const kind of [LocalClient, ShuffleClient])
  for (const given of ["{}", null, undefined, {}, [123, 125], new ArrayBuffer(2), new Uint8Array()])
    try {
      new kind(given);
    } catch (error) {
      console.log(error.name);
    }"""
    told = node.run("node", "--input-type=module", "-e", script, cwd=package.parents[2]).split()
    assert told == ["BadBillboard"] * 14


OPTIONS = """import { LocalClient, ShuffleClient } from "reticent-device";
const [local, shuffled] = process.argv.slice(-2).map((text) => Uint8Array.from(Buffer.from(text, "base64")));
const told = (kind, board, options) => {
  try {
    return new kind(board, options).cost;
  } catch (error) {
    return `${error.name}: ${error.message}`;
  }
};
const all = [{}, { epsilon: 1, delta: 1e-2 }, { epsilon: 0.9, delta: 1e-2 }, { epsilon: 1, delta: 1e-3 }];
const wrong = [{ epsilon: 1 }, { delta: 1e-2 }, { epsilon: -1, delta: 0 }, { epsilon: "a", delta: 0 }, { epsilno: 1 }];
console.log(
  JSON.stringify({
    shuffled: [...all, ...wrong, { publicArms: true }].map((options) => told(ShuffleClient, shuffled, options)),
    local: [{ epsilon: 1, delta: 1e-6 }, { epsilon: 0.5 }, { epsilno: 1 }].map((own) => told(LocalClient, local, own)),
  }),
);
"""


def test_limits_are_kept_and_options_that_a_device_does_not_have_are_refused(package):
    """Would catch a device that ignores {epsilon: 1}, or a limit that was misspelt."""
    boards = [published(name)[1] for name in ("irls", "newton")]
    cost, script = shuffle.ShuffleClient(boards[1]).cost, package.parents[2] / "options.mjs"
    script.write_text(OPTIONS)
    told = json.loads(node.run("node", script, *map(vectors.text, boards)))
    within = {"epsilon": cost.epsilon, "delta": cost.delta}
    assert told["shuffled"][:2] == [within, within]
    assert all("claim within the limits" in one for one in told["shuffled"][2:4])
    assert all(one.startswith("TypeError: Expected") for one in told["shuffled"][4:])
    assert told["local"][0]["epsilon"] == pytest.approx(1.0) and told["local"][1].startswith("BadBillboard")
    assert told["local"][2] == "TypeError: Expected the options of this device, got epsilno."


def test_a_device_reports_its_first_choice_of_a_batch_and_no_other(package):
    script = package.parents[2] / "once.mjs"
    script.write_text(
        """import { ShuffleClient } from "reticent-device";
const device = new ShuffleClient(Uint8Array.from(Buffer.from(process.argv.at(-1), "base64")));
const choices = Array.from({ length: 20 }, () => device.choose([[0.6, 0.1], [0.1, 0.9]]));
const sent = (choice) => {
  try {
    return device.randomize(choice, 1).length > 0;
  } catch (error) {
    return error.name;
  }
};
console.log(JSON.stringify(choices.map((choice) => [choice.reported, sent(choice), sent(choice)])));"""
    )
    told = json.loads(node.run("node", script, vectors.text(published("newton")[1])))
    assert told == [[True, True, True]] + [[False, "TypeError", "TypeError"]] * 19
