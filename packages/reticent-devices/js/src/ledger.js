// What a device has told: every report that left it or will leave it, and every arm that was displayed with a floor.
// Epsilons and deltas are added up, as by reticent_devices.roles.ledger, where the reasons are.
import { MARGIN } from "./limits.js";

/** The device's own limit: no more reports this week, whatever a server asks. */
export class TooManyReports extends Error {
  name = "TooManyReports";
}

/** The device's own limit on all that it ever tells. */
export class LifetimeSpent extends TooManyReports {
  name = "LifetimeSpent";
}

/** Of entries {server, what, batch, epsilon, delta, count}: so many times the same, at this cost each. */
export function composed(entries) {
  const sum = (name) => entries.reduce((all, one) => all + one.count * one[name], 0);
  return { epsilon: sum("epsilon"), delta: Math.min(1, sum("delta")), entries };
}

const FIELDS = ["server", "what", "batch", "epsilon", "delta"];
const alike = (a, b) => FIELDS.every((name) => a[name] === b[name]);
const changedBy = (entries, one, count) => {
  const known = entries.some((entry) => alike(entry, one));
  const all = known ? entries : [...entries, { ...one, count: 0 }];
  return all.map((entry) => (alike(entry, one) ? { ...entry, count: entry.count + count } : entry));
};

/** The entries with more, if that is within the limit {epsilon, delta}; throws LifetimeSpent if not. */
export function charged(entries, more, lifetime) {
  const after = more.reduce((all, one) => changedBy(all, one, 1), entries);
  const spent = composed(after);
  for (const name of ["epsilon", "delta"])
    if (!(spent[name] <= lifetime[name] * (1 + MARGIN))) {
      const got = `got ${spent[name]} with one more choice`;
      throw new LifetimeSpent(`Expected ${name} at most ${lifetime[name]} in this device's lifetime, ${got}.`);
    }
  return after;
}

/** The entries without one, whose report was never made. */
export const refunded = (entries, one) => changedBy(entries, one, -1).filter((entry) => entry.count > 0);
