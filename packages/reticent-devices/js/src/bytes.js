/** One after another. */
export function joined(...parts) {
  const out = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

export const hex = (data) => Array.from(data, (v) => v.toString(16).padStart(2, "0")).join("");

const encoder = new TextEncoder();
export const utf8 = (text) => encoder.encode(text);
