// A page that is a device: ?local=URL&shuffler=URL, the servers whose billboards it asks for and to which it reports. It
// shows the person what was sent, and what that means. &arms=public: arms may be sent as they are, and it says so.
// &identity=HEX: the shuffler's, to whom reports are sealed then. A real application has it in its code: whoever gives
// this address gives it here.
import "./account.js";
import { LocalClient, ShuffleClient } from "../src/index.js";
import { LifetimeSpent, Outbox, TooManyReports, get, post, sealing } from "../src/outbox.js";

const EPSILON = 4; // the application's own limits, whatever a billboard says
const WEEKLY = 20;
const LIFETIME = { epsilon: 200, delta: 1e-3 };
const REWARDS = [0, 1];
const THINGS = ["a walk", "a poem", "a recipe", "a song", "a riddle"];
const asked = new URLSearchParams(location.search);
const PUBLIC = asked.get("arms") === "public";
const [wait, jitter] = [Number(asked.get("wait") ?? 20e3), Number(asked.get("jitter") ?? 10e3)];
const $ = (id) => document.getElementById(id);

const MODELS = {
  local: {
    label: "a server that nobody trusts",
    open: (board) => new LocalClient(board, { epsilon: EPSILON, delta: 1e-6, rewards: REWARDS, publicArms: PUBLIC }),
    meaning: {
      replace:
        "The report is random: any person could have sent these very bytes. It is private by itself, whoever reads it.",
      "replace rewards":
        "What you were shown is in the report as it is, with your features in it: whoever reads the report knows them. " +
        "Whether you liked it is random, and private by itself.",
    },
  },
  shuffler: {
    label: "a shuffler",
    open: (board) => new ShuffleClient(board, { epsilon: EPSILON, delta: 1e-6, rewards: REWARDS }),
    meaning: {
      replace:
        "The report has coins of its own in every number. The shuffler adds it to those of many others and hands on the " +
        "sum alone. What is said above holds for that sum, as long as the shuffler keeps this report to itself and the " +
        "others are not the server's own: whoever sends all the others reads this one.",
    },
  },
};

const unhex = (text) => Uint8Array.from(text?.match(/../g) ?? [], (two) => parseInt(two, 16));
const PINNED = unhex(asked.get("identity"));

// By what a device's reports are private for (its `relation`).
const STAYS = {
  replace: "What you are shown, and what you think of it, stays here.",
  "replace rewards": "What you think of it stays here. What you are shown is sent as it is.",
};

function outbox(name) {
  const { open } = MODELS[name];
  const reports = post(`${asked.get(name)}/reports`);
  return new Outbox({
    open,
    send: name === "shuffler" && PINNED.length ? sealing(PINNED, `${asked.get(name)}/key`, reports) : reports,
    wait,
    jitter,
    weekly: WEEKLY,
    lifetime: LIFETIME,
    name: `reticent ${name}`,
  });
}

const boxes = Object.fromEntries(
  Object.keys(MODELS)
    .filter((name) => asked.get(name))
    .map((name) => [name, outbox(name)]),
);
let model = Object.keys(boxes)[0];
let ticket = null;
const relations = {}; // of the last billboard of each

/** Arms for this person: made up, and unknown to everybody else. */
function arms(dim) {
  const normal = () => Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random());
  return Object.fromEntries(
    THINGS.map((thing) => {
      const x = Array.from({ length: dim }, normal);
      const norm = Math.hypot(...x);
      return [thing, x.map((v) => v / norm)];
    }),
  );
}

async function choose() {
  const board = await get(`${asked.get(model)}/billboard`);
  const device = await MODELS[model].open(board);
  ticket = await boxes[model].choose(board, arms(device.dim));
  relations[model] = device.relation;
  const once = ticket.reported ? "" : " You have reported in this batch already, so nothing is reported of this one.";
  $("offer").textContent = `How about ${ticket.name}?${once}`;
  $("like").disabled = !ticket.reported;
}

async function like() {
  await boxes[model].reward(ticket.id, 1);
  $("like").disabled = true;
  $("offer").textContent += " You like it; the report will leave when it would have left anyway.";
}

const clock = (time) => new Date(time).toLocaleTimeString();

function said({ due, sent, taken }) {
  if (sent === null)
    return taken === false ? "not sent: its billboard is refused now" : `leaves when you open this page after ${clock(due)}`;
  const answer = taken ? "taken" : taken === false ? "came too late" : "not acknowledged yet: the same bytes go again";
  return `left at ${clock(sent)}, ${answer}`;
}

function cells(row, values) {
  for (const value of values) row.insertCell().append(value);
}

function bytes(report) {
  if (!report) return "not made yet";
  const code = document.createElement("code");
  code.textContent = Array.from(report, (v) => v.toString(16).padStart(2, "0")).join("");
  return code;
}

async function show() {
  const rows = [];
  for (const [name, box] of Object.entries(boxes)) for (const one of await box.shown()) rows.push({ name, ...one });
  rows.sort((a, b) => b.at - a.at);
  const body = document.createElement("tbody");
  body.id = "reports";
  for (const one of rows)
    cells(body.insertRow(), [clock(one.at), MODELS[one.name].label, said(one), bytes(one.report)]);
  $("reports").replaceWith(body);
  const here = rows.filter((one) => one.name === model).length;
  $("budget").textContent =
    `${here} of at most ${WEEKLY} choices in a week, to ${MODELS[model].label}: this page's own limit.`;
  const weakest = PUBLIC && model === "local" ? "replace rewards" : "replace"; // of what this page would act by
  const relation = relations[model] ?? weakest;
  $("meaning").textContent = MODELS[model].meaning[relation];
  $("stays").textContent = STAYS[relation];
  $("account").show(await boxes[model].account());
}

function models() {
  for (const name of Object.keys(boxes)) {
    const button = document.createElement("button");
    button.textContent = `Report to ${MODELS[name].label}`;
    button.dataset.model = name;
    button.onclick = guarded(async () => {
      model = name;
      ticket = null;
      $("like").disabled = true;
      $("offer").textContent = "Nothing yet.";
      pressed();
    });
    $("models").append(button, " ");
  }
  pressed();
}

function pressed() {
  for (const button of $("models").children)
    button.setAttribute("aria-pressed", String(button.dataset.model === model));
}

function told(error) {
  if (error instanceof LifetimeSpent) return "This page has told all that it ever will, by its own limit.";
  return error instanceof TooManyReports ? "This page reports no more this week." : error.message;
}

/** Work, then show; an error is told. */
const guarded = (work) => async () => {
  try {
    $("problem").hidden = true;
    await work();
  } catch (error) {
    $("problem").textContent = told(error);
    $("problem").hidden = false;
  }
  await show();
};

if (!model) {
  $("problem").textContent = "Expected ?local=URL or ?shuffler=URL in the address, got none.";
  $("problem").hidden = false;
} else {
  models();
  $("choose").onclick = guarded(choose);
  $("like").onclick = guarded(like);
  $("again").onclick = () => location.reload();
  $("forget").onclick = guarded(async () => {
    for (const box of Object.values(boxes)) await box.forget();
    ticket = null;
    $("like").disabled = true;
  });
  const flush = guarded(() => Promise.all(Object.values(boxes).map((box) => box.flush())));
  await flush(); // once, when the page is opened
  setInterval(show, 1000);
}
