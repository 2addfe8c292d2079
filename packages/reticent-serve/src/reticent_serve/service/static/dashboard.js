// Asks for this page every other second, takes over what changed, and draws curves when there is a new release.

const EVERY = 2000; // milliseconds
const plot = document.getElementById("plot");
const point = document.getElementById("point");
const resting = point?.textContent;
let chart = null, drawn = null, past = null, marked = null, poll = null;

if (document.querySelector("[data-live]")) {
  draw();
  poll = setInterval(look, EVERY);
}

async function look() {
  if (document.hidden) return;
  try {
    const reply = await fetch(location.pathname, { cache: "no-store", redirect: "manual" });
    if (reply.type === "opaqueredirect") return location.reload(); // somebody has to log in again
    if (reply.status === 429) return;
    if (!reply.ok) throw new Error();
    renew(new DOMParser().parseFromString(await reply.text(), "text/html"));
    lost(false);
    await draw();
  } catch {
    lost(true);
  }
}

function renew(page) {
  for (const fresh of page.querySelectorAll("[data-live]")) {
    const old = document.getElementById(fresh.id);
    if (!old) continue;
    for (const one of fresh.querySelectorAll("details")) one.open = document.getElementById(one.id)?.open ?? false;
    if (old.outerHTML === fresh.outerHTML) continue;
    const inside = old.contains(document.activeElement) ? document.activeElement.parentElement.id : "";
    old.replaceWith(fresh);
    document.getElementById(inside)?.querySelector("summary")?.focus(); // whoever reads a table stays there
  }
}

function lost(is) {
  document.getElementById("lost").hidden = !is;
}

// the plot

async function draw() {
  const { version, history } = document.getElementById("tiles")?.dataset ?? {};
  if (!history || !plot || version === drawn) return;
  const reply = await fetch(history, { cache: "no-store" });
  if (!reply.ok) return;
  past = await reply.json();
  drawn = version;
  show();
}

function show() {
  if (!past) return;
  const alone = past.releases.length < 2; // one point is no curve
  plot.hidden = point.hidden = alone;
  if (alone) return;
  chart?.destroy();
  chart = new uPlot(options(), columns(), plot);
  plot.dataset.drawn = past.version;
}

// Intervals that are still as wide as before the first release are left out: they would cover all else.
function columns() {
  const known = (one, i) => one.high[i] - one.low[i] < 0.999 * (one.high[0] - one.low[0]);
  const end = (one, part) => one[part].map((value, i) => (known(one, i) ? value : null));
  return [past.releases, ...past.features.flatMap((one) => [one.estimate, end(one, "low"), end(one, "high")])];
}

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function base(range, size) {
  const axis = { stroke: colour("--dim"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false } };
  return {
    width: plot.clientWidth,
    height: Math.max(0.6 * size, Math.min(size, plot.clientWidth * 0.45)),
    legend: { show: false },
    cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
    scales: { x: { time: false }, y: { range } },
    axes: [
      { ...axis, label: "release", labelSize: 20, size: 30, labelFont: "13px system-ui", incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500] },
      { ...axis, size: 40 },
    ],
  };
}

function options() {
  const curves = past.features.map((one, i) => colour(`--c${i}`));
  const strength = (i, usual, chosen, other) => (marked === null ? usual : marked === i ? chosen : other);
  const edge = { width: 0, points: { show: false }, stroke: "transparent" };
  const most = (parts) => Math.max(...past.features.flatMap(parts).map(Math.abs), 0.05);
  const weights = most((one) => one.estimate), ends = most((one) => [one.low.at(-1), one.high.at(-1)]);
  const large = Math.max(weights, Math.min(ends, 3 * weights)); // wide bands go beyond
  return {
    ...base([-1.1 * large, 1.1 * large], 360),
    series: [
      {},
      ...past.features.flatMap((one, i) => [
        {
          label: one.name,
          stroke: () => alpha(curves[i], strength(i, 1, 1, 0.15)),
          width: 2.25,
          points: { show: past.releases.length < 30, size: 5, fill: () => alpha(curves[i], strength(i, 1, 1, 0.15)) },
        },
        edge,
        edge,
      ]),
    ],
    bands: past.features.map((one, i) => ({
      series: [3 * i + 3, 3 * i + 2],
      fill: () => alpha(curves[i], strength(i, 0.06, 0.25, 0.0)),
    })),
    hooks: { drawAxes: [(u) => zero(u, colour("--dim"))], setCursor: [say] },
  };
}

function zero(u, colour) {
  const { left, width } = u.bbox, at = Math.round(u.valToPos(0, "y", true));
  u.ctx.fillStyle = colour;
  u.ctx.fillRect(left, at, width, 1);
}

function alpha(colour, share) {
  const [r, g, b] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  return `rgba(${r}, ${g}, ${b}, ${share})`;
}

// In words, what lies under the pointer.
function say(u) {
  const at = u.cursor.idx;
  if (at === null || at === undefined || u.cursor.left < 0) {
    point.textContent = resting;
    return;
  }
  const weights = past.features.map((one) => `${one.name} ${number(one.estimate[at])}`).join(", ");
  point.textContent = past.releases[at] === 0 ? `Before the first release: ${weights}.` : `${release(at)}: ${weights}.`;
}

function number(value) {
  return value.toFixed(2).replace(/^-0.00$/, "0.00").replace("-", "\u2212");
}

function release(at) {
  const choices = past.choices[at].toLocaleString("en").replaceAll(",", "\u202f");
  const when = past.visible_at[at] && new Date(1000 * past.visible_at[at]).toLocaleTimeString();
  return `Release ${past.releases[at]}, after ${choices} choices, ${when}`;
}

function mark(row) {
  const curve = row ? Number(row.dataset.curve) : null;
  if (curve === marked) return;
  marked = curve;
  chart?.redraw(false);
}

document.addEventListener("pointerover", (event) => mark(event.target.closest?.("tr[data-curve]")));
document.addEventListener("visibilitychange", () => poll && look());
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
if (plot) {
  new ResizeObserver(() => {
    if (chart && Math.abs(chart.width - plot.clientWidth) > 1) show();
  }).observe(plot.parentElement);
}

// who is there

const post = (path, body) =>
  fetch(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });

document.getElementById("login")?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const field = event.target.elements.key;
  const reply = await post("/login", { key: field.value });
  field.value = "";
  if (reply.ok) return location.assign("/dashboard");
  document.getElementById("wrong").textContent = reply.status === 401 || reply.status === 422
    ? "This is no operator's or auditor's key."
    : "Not now: try again in a moment.";
});

document.getElementById("logout")?.addEventListener("click", async () => {
  await post("/logout", {});
  location.assign("/login");
});
