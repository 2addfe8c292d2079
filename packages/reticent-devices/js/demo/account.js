// <reticent-account>: what left a device in its life, what that adds up to, and what is left, for the person to read.
// Give it what Outbox.account() returns: element.show(account).

const KINDS = { report: "reports", display: "displayed" };
const short = (value) => String(Number(value.toPrecision(3)));

function made(name, attributes, ...inside) {
  const out = document.createElement(name);
  Object.assign(out, attributes);
  out.append(...inside);
  return out;
}

function row(cells, kind = "td") {
  return made("tr", {}, ...cells.map((text) => made(kind, {}, text)));
}

/** How much of a limit is used up. */
function used(label, spent, most) {
  const said = `${label} = ${short(spent)} of ${short(most)}`;
  return made("p", {}, made("meter", { min: 0, max: most, value: spent, title: said }), ` ${said}`);
}

class AccountView extends HTMLElement {
  show({ spent, lifetime, lines }) {
    const { entries } = spent;
    const table = made(
      "table",
      {},
      row(["to", "what", "how many", "each costs"], "th"),
      ...entries.map((one) => row([one.server, KINDS[one.what], one.count, `ε = ${short(one.epsilon)}`])),
    );
    const limit = used("ε, added up,", spent.epsilon, lifetime.epsilon);
    const words = lines.map((line) => made("p", {}, line));
    this.replaceChildren(...(entries.length ? [table] : []), limit, ...words);
  }
}

customElements.define("reticent-account", AccountView);
