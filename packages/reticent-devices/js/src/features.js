// From raw fields to vectors of norm at most 1 by public bounds, as reticent.features: the application's own settings,
// never the server's, whose billboard has their digest.
import { hex, utf8 } from "./bytes.js";
import { dumps, ordered } from "./json.js";
import { sha256 } from "./sha256.js";

const none = (v) => v === null || v === undefined || Number.isNaN(v);
const typed = (v) => (Array.isArray(v) ? "list" : typeof v);
const wrong = (what, v) => {
  throw new TypeError(`${what}, got ${typed(v)}.`);
};

// of each kind of field: its settings as Python writes them, how many numbers it has, and those that are not zero

const COLUMNS = {
  Number: {
    settings: ({ low, high, bins = 1 }) => ({ low, high, bins: BigInt(bins) }),
    size: ({ bins }) => Number(bins) + 1,
    entries({ low, high, bins }, value) {
      const count = Number(bins);
      if (none(value)) return [[count, 1]];
      if (typeof value !== "number") wrong("a number", value);
      const share = (Math.min(Math.max(value, low), high) - low) / (high - low);
      if (count === 1) return [[0, 2 * share - 1]];
      const place = share * (count - 1);
      const left = Math.min(Math.floor(place), count - 2);
      return [
        [left, 1 - (place - left)],
        [left + 1, place - left],
      ];
    },
  },
  Category: {
    settings: ({ values }) => ({ values }),
    size: ({ values }) => values.length + 1,
    entries({ values }, value) {
      if (none(value)) return [[values.length, 1]];
      if (typeof value !== "string") wrong("a text", value);
      const at = values.indexOf(value);
      return [[at < 0 ? values.length : at, 1]];
    },
  },
  Tags: {
    settings: ({ values }) => ({ values }),
    size: ({ values }) => values.length + 1,
    entries({ values }, value) {
      if (none(value)) return [];
      if (!Array.isArray(value) || !value.every((tag) => typeof tag === "string")) wrong("a list of texts", value);
      const given = new Set(value);
      const places = [...values.keys()].filter((i) => given.has(values[i]));
      if (places.length < given.size) places.push(values.length);
      return places.map((i) => [i, 1 / Math.sqrt(places.length)]);
    },
  },
  Hashed: {
    settings: ({ slots, salt = "" }) => ({ slots: BigInt(slots), salt }),
    size: ({ slots }) => Number(slots) + 1,
    entries({ slots, salt }, value) {
      if (none(value)) return [[Number(slots), 1]];
      if (typeof value !== "string" && !Number.isSafeInteger(value)) wrong("a text or a whole number", value);
      const number = new DataView(sha256(utf8(`${salt}\0${value}`)).buffer).getBigUint64(0);
      return [[Number((number >> 1n) % slots), number & 1n ? 1 : -1]];
    },
  },
};

/** `new Schema(document)`: what `Schema.to_dict()` of Python writes; what has a default may be left out. */
export class Schema {
  constructor({ context = {}, action = {}, arms = "shared", actions = [], cross = [], public: origin = "" }) {
    const [person, offer] = [context, action].map(columns);
    this.names = [person, offer].map((fields) => ordered(Object.keys(fields)));
    this.arms = arms;
    this.actions = actions;
    this.fields = { ...person, ...offer };
    const settings = (of) => Object.fromEntries(Object.entries(of).map(([name, column]) => [name, column.settings]));
    const whole = { context: settings(person), action: settings(offer), arms, actions, cross, public: origin };
    /** The same for schemas that make the same vectors, in Python and here. */
    this.digest = hex(sha256(utf8(dumps(whole))));
    this.parts = this.placed([[], ...this.names.flat().map((name) => [name]), ...cross]);
    this.dim = Math.max(1, actions.length) * this.parts.size;
  }

  /** The names and vectors of what may be offered to a person. actions: name -> fields; names are enough where actions
  /** have no fields, and left out it is all of them. */
  rows(context, actions) {
    const [ofPerson, ofAction] = this.names;
    if (actions === undefined && !ofAction.length) actions = this.actions;
    const named = Array.isArray(actions) ? Object.fromEntries(actions.map((name) => [name, {}])) : actions;
    const names = Object.keys(named ?? {});
    const known = names.every((name) => !this.actions.length || this.actions.includes(name));
    if (!names.length || !known || (ofAction.length && Array.isArray(actions)))
      throw new TypeError("Expected actions of the schema, with the fields of each, got others.");
    const person = this.entries(context, ofPerson);
    const rows = names.map((name) => {
      const out = new Array(this.dim).fill(0);
      const start = Math.max(0, this.actions.indexOf(name)) * this.parts.size;
      put(out, start, this.parts, { ...person, ...this.entries(named[name], ofAction) }, this.fields);
      return out;
    });
    return { names, rows };
  }

  entries(given, names) {
    if (Object.keys(given).some((name) => !names.includes(name)))
      throw new TypeError(`Expected fields of the schema (${names.join(", ") || "none"}), got another.`);
    return Object.fromEntries(
      names.map((name) => {
        try {
          return [name, COLUMNS[this.fields[name].kind].entries(this.fields[name].settings, given[name])];
        } catch (error) {
          throw new TypeError(`Expected ${name} to be ${error.message}`);
        }
      }),
    );
  }

  /** Parts side by side, with weights whose squares sum to 1. */
  placed(parts) {
    const product = (part, of) => part.reduce((out, name) => out * of(this.fields[name]), 1);
    const weights = parts.map((part) => product(part, (column) => column.settings.weight));
    const total = Math.sqrt(weights.reduce((sum, w) => sum + w * w, 0));
    let size = 0;
    const list = parts.map((part, i) => {
      const start = size;
      size += product(part, (column) => column.size);
      return [part, start, weights[i] / total];
    });
    return { list, size };
  }
}

function columns(given) {
  return Object.fromEntries(
    Object.entries(given).map(([name, { kind, weight = 1, strict = false, ...rest }]) => {
      if (strict) // a choice that fails is a report that does not come, and tells without noise
        throw new TypeError(`Expected no strict fields on devices, got ${name}.`);
      const column = Object.hasOwn(COLUMNS, kind) ? COLUMNS[kind] : wrong(`${name} of a known kind`, kind);
      const settings = { kind, weight, ...column.settings(rest) };
      return [name, { kind, settings, size: column.size(settings) }];
    }),
  );
}

function put(out, from, { list }, entries, fields) {
  for (const [part, start, weight] of list) {
    const [one = [[0, 1]], two = [[0, 1]]] = part.map((name) => entries[name]);
    const width = part.length === 2 ? fields[part[1]].size : 1;
    for (const [i, a] of one) for (const [j, b] of two) out[from + start + i * width + j] = weight * a * b;
  }
}
