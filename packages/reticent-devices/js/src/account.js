// The person's view of the ledger, as by reticent_devices.roles.account: what left, what that adds up to, and what is left.
import { decay } from "./numbers.js";

/** How often somebody who sees all that was told can be right about which of two data there was, each as likely before:
 * the formula is derived in reticent_devices.roles.account. */
export const certainty = ({ epsilon, delta }) => delta + (1 - delta) / (1 + decay(epsilon));

/** spent: what `composed` says; lifetime: the limit {epsilon, delta}; floor: of the outbox; waiting: how many reports
 * have not been acknowledged or made. */
export function accountOf(spent, lifetime, floor, waiting) {
  const { epsilon, delta, entries } = spent;
  const told = entries.filter(({ what }) => what === "report");
  const left = {
    epsilon: Math.max(0, lifetime.epsilon - epsilon),
    delta: Math.max(0, lifetime.delta - delta),
  };
  const reports = told.reduce((sum, { count }) => sum + count, 0);
  const out = { reports, waiting, spent, lifetime, left, floor, certainty: certainty(spent) };
  return { ...out, lines: lines(out) };
}

const PREFETCHED =
  "What is displayed is not counted: everything is fetched ahead, so that nobody sees what is displayed.";
const counted = (floor) =>
  `What is displayed is counted: it is drawn at random with probability ${floor}, so that whoever sees it learns a ` +
  "bounded amount.";
const short = (value) => String(Number(value.toPrecision(3)));

function lines({ reports, waiting, spent, lifetime, left, floor, certainty: right }) {
  const s = reports === 1 ? "" : "s";
  return [
    `${reports} report${s} left this device or will leave it, ${waiting} of them waiting.`,
    `Added up: epsilon = ${short(spent.epsilon)} of at most ${lifetime.epsilon}, delta = ${short(spent.delta)} of at ` +
      `most ${lifetime.delta}. Left: epsilon = ${short(left.epsilon)}.`,
    "Whoever thinks something about you, which no report holds as it is, as likely as not is right about it after all of " +
      `them at most ${(100 * right).toFixed(1)} % of the time.`,
    floor ? counted(floor) : PREFETCHED,
  ];
}
