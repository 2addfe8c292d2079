// What a device of two aggregators does with given billboards, people and random bytes: run by Node.
// node replay.js TASK FILE: prints what the task returns, as JSON.
import { readFileSync } from "node:fs";
import { Bounded, Prio3 } from "../../js/src/prio3.js";
import { openTwoServer } from "../../js/src/two.js";
import { tape } from "../../../../packages/reticent-devices/tests/devices_tests/js/replay.js";

const decoded = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
const encoded = (bytes) => Array.from(bytes, (v) => v.toString(16).padStart(2, "0")).join("");
const number = (v) => (typeof v === "string" ? Number(v) : v); // JSON has no NaN

/** The device of another person at the same billboard. */
const another = (device) => Object.assign(Object.create(device), { chosen: false });

/** Reports in two shares: {public, leader, helper, refused} of each case. */
function shared(cases) {
  return cases.map(({ circuit, context, numbers, nonce, random, wrong }) => {
    const prio3 = new Prio3(new Bounded(circuit), decoded(context));
    const report = prio3.shard(numbers, decoded(nonce), decoded(random));
    const [leader, helper] = report.shares.map(encoded);
    let refused = "";
    try {
      prio3.shard(wrong, decoded(nonce), decoded(random));
    } catch (error) {
      refused = error.message;
    }
    return { public: encoded(report.public), leader, helper, refused };
  });
}

/** Devices of two aggregators: {cost, mu, index, report} of each case, or the name of the error. */
async function two({ random, now, identities, boards, cases }) {
  const state = random ? tape(decoded(random)) : { at: 0 };
  Date.now = () => now * 1000;
  const pinned = identities.map((one) => decoded(one));
  const opened = (board, options) => openTwoServer(decoded(board), { identities: pinned, ...options });
  const made = await Promise.all(boards.map(({ board, options }) => opened(board, options).catch((error) => error)));
  const told = [];
  for (const { at, board, arms, floor, reward } of cases) {
    state.at = at;
    const device = another(made[board]);
    const choice = device.choose(arms, undefined, floor);
    told.push({ index: choice.index, report: encoded(await device.randomize(choice, number(reward))) });
  }
  const said = (one) =>
    one instanceof Error ? { error: one.name, why: one.message } : { cost: one.cost, mu: one.mu, parties: one.parties };
  return { boards: made.map(said), cases: told };
}

/** Hostile billboards of two aggregators: the name of the error, or of each person the random bytes that a choice and a
 * report take, and the report's length. */
async function hostileTwo({ random, now, identities, boards, people }) {
  const state = tape(decoded(random));
  Date.now = () => now * 1000;
  const out = [];
  for (const board of boards)
    try {
      const device = await openTwoServer(decoded(board), { identities: identities.map((one) => decoded(one)) });
      const told = [];
      if (device.dim === people[0].arms[0].length)
        for (const { arms, reward } of people) {
          state.at = 0;
          const choice = device.choose(arms);
          const first = state.at;
          told.push([first, (await device.randomize(choice, number(reward))).length, state.at]);
        }
      out.push({ told });
    } catch (error) {
      out.push({ error: error.name, why: error.message });
    }
  return out;
}

/** Whether billboards may be acted by one after another, on one device: the name of each error, or null. */
async function followed({ now, identities, boards }) {
  Date.now = () => now * 1000;
  let marks = {};
  const told = [];
  for (const board of boards)
    try {
      marks = (await openTwoServer(decoded(board), { identities: identities.map((one) => decoded(one)) })).seen(marks);
      told.push(null);
    } catch (error) {
      told.push(error.name);
    }
  return { told, marks };
}

/** Milliseconds of a device of two aggregators: to verify a billboard, for the first report and for each after it. */
async function timedTwo({ identities, boards, draws }) {
  const out = [];
  for (const { board, arms } of boards) {
    const started = performance.now();
    const device = await openTwoServer(decoded(board), { identities: identities.map((one) => decoded(one)) });
    const read = performance.now();
    await device.randomize(device.choose(arms), 1);
    const first = performance.now();
    for (let i = 0; i < draws; i++) await device.randomize(device.choose(arms), 1);
    out.push({ read: read - started, first: first - read, each: (performance.now() - first) / draws });
  }
  return out;
}

const TASKS = { shared, two, hostileTwo, followed, timedTwo };
const [task, file] = process.argv.slice(2);
process.stdout.write(JSON.stringify(await TASKS[task](JSON.parse(readFileSync(file)))));
