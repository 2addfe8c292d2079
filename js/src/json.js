// JSON as Python reads and writes it: whole numbers (here BigInt) are told from others, and no name comes twice.

export class Wrong extends Error {}

const TOKEN =
  /[ \t\n\r]*(?:([{}[\]:,])|"([^"\x00-\x1f]*)"|(true|false|null)|(-?(?:0|[1-9][0-9]*))((?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?))/y;
const WORDS = { true: true, false: false, null: null };
const DIGITS = 4300; // of a whole number: longer ones take quadratic time

/** The value in some bytes: ASCII without escapes; length, depth and brackets are bounded. */
export function parse(data, longest, deepest, brackets) {
  if (data.length > longest) throw new Wrong(`at most ${longest} bytes`);
  if (data.some((v) => v > 127 || v === 92)) throw new Wrong("plain ASCII without escapes");
  const text = new TextDecoder().decode(data);
  let at = 0;
  let opened = 0;
  const next = () => {
    TOKEN.lastIndex = at;
    const found = TOKEN.exec(text);
    if (!found) throw new Wrong("JSON");
    at = TOKEN.lastIndex;
    return found;
  };
  const value = (depth, [, mark, string, word, whole, rest] = next()) => {
    if (string !== undefined) return string;
    if (word) return WORDS[word];
    if (whole) {
      if (rest) return Number(whole + rest);
      if (whole.length > DIGITS) throw new Wrong("JSON");
      return BigInt(whole);
    }
    const end = { "{": "}", "[": "]" }[mark];
    if (!end) throw new Wrong("JSON");
    if (depth === deepest || ++opened > brackets) throw new Wrong(`at most ${brackets} brackets, ${deepest} deep`);
    const out = mark === "[" ? [] : Object.create(null);
    for (let token = next(); token[1] !== end; ) {
      if (mark === "[") out.push(value(depth + 1, token));
      else {
        const name = token[2];
        if (name === undefined || next()[1] !== ":") throw new Wrong("JSON");
        if (name in out) throw new Wrong("every name once in an object");
        out[name] = value(depth + 1);
      }
      token = next();
      if (token[1] === ",") {
        token = next();
        if (token[1] === end) throw new Wrong("JSON");
      } else if (token[1] !== end) throw new Wrong("JSON");
    }
    return out;
  };
  const out = value(0);
  if (/[^ \t\n\r]/.test(text.slice(at))) throw new Wrong("JSON");
  return out;
}

/** As json.dumps(value, sort_keys=True) of Python. */
export function dumps(value) {
  if (value === null || typeof value === "boolean" || typeof value === "bigint") return String(value);
  if (typeof value === "number") return real(value);
  if (typeof value === "string") return `"${value.replace(/[\\"]|[^ -~]/g, escaped)}"`;
  if (Array.isArray(value)) return `[${value.map(dumps).join(", ")}]`;
  return `{${ordered(Object.keys(value)).map((name) => `${dumps(name)}: ${dumps(value[name])}`).join(", ")}}`;
}

/** Texts in the order of their code points, as Python sorts. */
export function ordered(texts) {
  const points = (text) => Array.from(text, (one) => one.codePointAt(0).toString(16).padStart(6, "0")).join("");
  return texts.map((text) => [points(text), text]).sort(([a], [b]) => (a < b ? -1 : 1)).map(([, text]) => text);
}

const SHORT = { "\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f", "\b": "\\b", "\\": "\\\\", '"': '\\"' };
const escaped = (one) => SHORT[one] ?? `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`;

function real(value) {
  if (Object.is(value, -0)) return "-0.0";
  const [digits, power] = value.toExponential().split("e");
  const size = Math.abs(power);
  if (power < -4 || power >= 16) return `${digits}e${power < 0 ? "-" : "+"}${String(size).padStart(2, "0")}`;
  return Number.isInteger(value) ? `${value}.0` : String(value);
}
