// What a device has told: every report that left it or will leave it, and every arm that was displayed with a floor.
// Entries add up as by tacit.roles.ledger, where the reasons are: epsilons and deltas are added; of reports to two
// aggregators the mu of one task are added, and of several tasks their squares.
import { MARGIN } from "./limits.js";

/** The device's own limit: no more reports this week, whatever a server asks. */
export class TooManyReports extends Error {
  name = "TooManyReports";
}

/** The device's own limit on all that it ever tells. */
export class LifetimeSpent extends TooManyReports {
  name = "LifetimeSpent";
}

/** Of entries {server, what, batch, epsilon, delta, task, parties, mu, count}: so many times the same, at this cost each.
 * mu: against each of two aggregators, null in the other models. */
export function composed(entries) {
  const added = entries.filter((one) => !one.mu);
  const sum = (name) => added.reduce((all, one) => all + one.count * one[name], 0);
  const tasks = new Map();
  for (const { task, mu, count } of entries.filter((one) => one.mu))
    tasks.set(task, (tasks.get(task) ?? 0) + count * Math.max(...mu));
  const squares = [...tasks.values()].reduce((all, mu) => all + mu * mu, 0);
  return { epsilon: sum("epsilon"), delta: Math.min(1, sum("delta")), mu: Math.sqrt(squares), entries };
}

const FIELDS = ["server", "what", "batch", "epsilon", "delta", "task", "parties", "mu"];
const same = (a, b) => String(a ?? null) === String(b ?? null); // lists by what is in them
const alike = (a, b) => FIELDS.every((name) => same(a[name], b[name]));
const changedBy = (entries, one, count) => {
  const known = entries.some((entry) => alike(entry, one));
  const all = known ? entries : [...entries, { ...one, count: 0 }];
  return all.map((entry) => (alike(entry, one) ? { ...entry, count: entry.count + count } : entry));
};

/** The entries with more, if that is within the limit {epsilon, delta, mu}; throws LifetimeSpent if not. */
export function charged(entries, more, lifetime) {
  const after = more.reduce((all, one) => changedBy(all, one, 1), entries);
  const spent = composed(after);
  for (const name of ["epsilon", "delta", "mu"])
    if (!(spent[name] <= lifetime[name] * (1 + MARGIN))) {
      const got = `got ${spent[name]} with one more choice`;
      throw new LifetimeSpent(`Expected ${name} at most ${lifetime[name]} in this device's lifetime, ${got}.`);
    }
  return after;
}

/** The entries without one, whose report was never made. */
export const refunded = (entries, one) => changedBy(entries, one, -1).filter((entry) => entry.count > 0);
