// Whether a public document is as it should be, as by reticent_devices.roles.schema and reticent_devices.roles.billboard: exactly these fields,
// of these types, shapes and ranges. It was written by a server that is not trusted, and is checked whole before a datum
// meets it.
import { BadBillboard } from "./errors.js";
import { parse } from "./json.js";

export const LONGEST = 2 ** 23;
const DEEPEST = 4;
const BRACKETS = 2 ** 12;
export const LARGE = 1e12;

/** Raise unless what the billboard says of something is as it should be. */
export function need(holds, what, got = "another") {
  if (!holds) throw new BadBillboard(`Expected a billboard with a good ${what}, got ${got}.`);
}
export const square = (rows, size) => rows.length === size && rows.every((row) => row.length === size);

// fields: whether a JSON value is as it should be

const number = (v) => typeof v === "bigint" || typeof v === "number";
export const real = (low, high) => (v) => number(v) && low <= v && v <= high;
export const whole = (low, high) => (v) => typeof v === "bigint" && low <= v && v <= high;
export const flag = (v) => typeof v === "boolean";
export const text = (pattern) => (v) => typeof v === "string" && pattern.test(v);
export const oneOf =
  (...known) =>
  (v) =>
    known.includes(v);
export const orNull = (inner) => (v) => v === null || inner(v);
export const list = (inner) => (v) => Array.isArray(v) && v.every(inner);
const object = (v) => v !== null && typeof v === "object" && !Array.isArray(v);
export const record = (fields) => (v) => {
  const names = Object.keys(fields);
  if (!object(v) || Object.keys(v).length !== names.length) return false;
  return names.every((name) => fields[name](v[name]) || need(false, name));
};
export const variant = (key, kinds) => (v) => {
  const name = object(v) && v[key];
  return typeof name === "string" && Object.hasOwn(kinds, name) && record({ [key]: Boolean, ...kinds[name] })(v);
};

export const POSITIVE = real(1 / LARGE, LARGE);
export const SIZE = real(0, LARGE);
export const PART = real(0, 1);
export const BELOW_ONE = real(0, 1 - 2 ** -53);
export const ROW = list(real(-LARGE, LARGE));
export const MATRIX = list(ROW);
export const LONG = whole(0n, 2n ** 63n - 1n);

/** Whole numbers as others are. */
function plain(v) {
  if (typeof v === "bigint") return Number(v);
  if (Array.isArray(v)) return v.map(plain);
  return object(v) ? Object.fromEntries(Object.entries(v).map(([name, inner]) => [name, plain(inner)])) : v;
}

/** The document in some bytes, as `parse` reads it and with whole numbers as others are. */
export function checked(data, fields) {
  need(data instanceof Uint8Array, "Uint8Array of bytes");
  const given = parse(data, LONGEST, DEEPEST, BRACKETS);
  need(given !== undefined && record(fields)(given), "set of fields");
  return [plain(given), given];
}

/** Refuses a range of rewards that is none. */
export function ranged([low, high, ...more]) {
  need(!more.length && high - low >= 1 / LARGE, "rewards");
}
