// JSON as Python reads and writes it: whole numbers (here BigInt) are told from others, and no name comes twice.

import { hex, utf8 } from "./bytes.js";

const TOKEN =
  /[ \t\n\r]*(?:([{}[\]:,])|"([^"\x00-\x1f]*)"|(true|false|null)|(-?(?:0|[1-9][0-9]*))((?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)|$)/y;
const DIGITS = 4300; // of a whole number: longer ones take quadratic time

/** The value in some bytes, undefined if there is none: ASCII without escapes, of bounded length, depth and brackets. */
export function parse(data, longest, deepest, brackets) {
  if (data.length > longest || data.some((v) => v > 127 || v === 92)) return undefined;
  const text = new TextDecoder().decode(data);
  let at = 0;
  let opened = 0;
  let good = true;
  const next = () => {
    TOKEN.lastIndex = at;
    const found = TOKEN.exec(text) ?? [];
    at = TOKEN.lastIndex;
    return found;
  };
  const need = (holds) => (good &&= holds);
  const value = (depth, [, mark, string, word, whole, rest] = next()) => {
    if (string !== undefined) return string;
    if (word) return word === "null" ? null : word === "true";
    if (rest) return Number(whole + rest);
    if (whole) return need(whole.length <= DIGITS) && BigInt(whole);
    const end = { "{": "}", "[": "]" }[mark];
    if (!need(end && depth < deepest && ++opened <= brackets)) return null;
    const out = end === "]" ? [] : Object.create(null);
    for (let token = next(); good && token[1] !== end;) {
      if (end === "]") out.push(value(depth + 1, token));
      else if (need(token[2] !== undefined && !(token[2] in out) && next()[1] === ":"))
        out[token[2]] = value(depth + 1);
      token = next();
      if (token[1] === ",") need((token = next())[1] !== end);
      else need(token[1] === end);
    }
    return out;
  };
  const out = value(0);
  return need(/^[ \t\n\r]*$/.test(text.slice(at))) ? out : undefined;
}

/** As json.dumps(value, sort_keys=True) of Python. */
export function dumps(value) {
  if (typeof value === "bigint") return String(value);
  if (typeof value === "number") return written(value);
  if (Array.isArray(value)) return `[${value.map(dumps).join(", ")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value).replace(/[^ -~]/g, escaped);
  const pairs = ordered(Object.keys(value)).map((name) => dumps(name) + ": " + dumps(value[name]));
  return `{${pairs.join(", ")}}`;
}

/** Texts in the order of their code points, as Python sorts. */
export const ordered = (texts) => texts.sort((a, b) => (hex(utf8(a)) < hex(utf8(b)) ? -1 : 1));

const escaped = (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`;

function written(value) {
  if (Object.is(value, -0)) return "-0.0";
  const [digits, power] = value.toExponential().split("e");
  if (power < -4 || power >= 16) return `${digits}e${power[0]}${power.slice(1).padStart(2, "0")}`;
  return Number.isInteger(value) ? `${value}.0` : String(value);
}
