// Rewards for OpenFeature. Its clients of the remote evaluation protocol (OFREP) evaluate flags, which are choices of
// reticent, and do not say what came of them.

const AGAIN = [429, 502, 503, 504]; // the server asks to come again, or what stands before it had no reply
const PATIENCE = 30e3; // milliseconds for which a message is sent again
const PAUSE = 100; // before the second try; twice as long before each later one
const LONGEST = 2000;

/**
 * The same provider, with `track(flag, context, { value, id })`, which reports a reward: `id` is of the evaluation's
 * flagMetadata. headers: with the access key, where the application asks reticent itself.
 */
export function rewarding(provider, { baseUrl, headers = {}, onError = (error) => console.error(error.message) }) {
  const evaluated = new Set(); // flags
  provider.hooks = [...(provider.hooks ?? []), { after: ({ flagKey }) => void evaluated.add(flagKey) }];
  provider.track = (flag, _, { value, id } = {}) => {
    if (id === undefined && !evaluated.has(flag)) return undefined; // an event of another kind
    if (typeof id !== "string" || !Number.isFinite(value))
      return onError(new Error("Expected a finite value, and the id of a choice (flagMetadata.id), got another."));
    const url = `${baseUrl.replace(/\/+$/, "")}/v1/bandits/${encodeURIComponent(flag)}/reward`;
    return send(url, headers, { id, reward: value }).catch(onError);
  };
  return provider;
}

/** Whether it came in time, once it is on the server's disk. */
async function send(url, headers, body) {
  const until = Date.now() + PATIENCE;
  const request = {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body: JSON.stringify(body),
    keepalive: true, // a click may lead to another page
  };
  for (let pause = PAUSE; ; pause = Math.min(LONGEST, 2 * pause)) {
    const reply = await fetch(url, request).catch(() => undefined);
    if (reply?.ok) return (await reply.json()).late !== true;
    const status = reply?.status ?? "none";
    const wait = Math.max(pause, 1000 * Number(reply?.headers.get("retry-after") ?? 0));
    if ((reply !== undefined && !AGAIN.includes(status)) || !(Date.now() + wait < until))
      throw new Error(`Expected a reply of reticent, got status ${status}.`);
    await new Promise((done) => setTimeout(done, wait));
  }
}
