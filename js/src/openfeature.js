// Rewards for OpenFeature. Its clients of the remote evaluation protocol (OFREP) evaluate flags, which are choices of
// tacit, and do not say what came of them.

const AGAIN = [429, 502, 503, 504]; // the server asks to come again, or what stands before it had no reply
const PATIENCE = 30e3; // milliseconds for which a message is sent again
const PAUSE = 100; // before the second try; twice as long before each later one
const LONGEST = 2000;

/**
 * The same provider, with `track(flag, { value, id })`, which reports a reward, and a hook, which tells the server that a
 * deferred choice was shown when its flag is read. `id` is of the evaluation's flagMetadata; on a page the choice that
 * was read last is meant without it. headers: with the access key, where the application asks tacit itself.
 */
export function rewarding(provider, { baseUrl, headers = {}, onError = (error) => console.error(error.message) }) {
  const read = new Map(); // flag -> the id of its choice where it is deferred, which is so on a page: of one person
  const report = (flag, route, body) =>
    send(`${baseUrl.replace(/\/+$/, "")}/v1/bandits/${encodeURIComponent(flag)}/${route}`, headers, body).catch(onError);
  const hook = {
    after({ flagKey }, { flagMetadata = {} }) {
      const { id, deferred } = flagMetadata;
      const before = read.get(flagKey);
      read.set(flagKey, deferred ? id : undefined);
      if (deferred && id !== before) report(flagKey, "activate", { id });
    },
  };
  provider.hooks = [...(provider.hooks ?? []), hook];
  provider.track = (flag, _, { value, id = read.get(flag) } = {}) => {
    if (id === undefined && !read.has(flag)) return undefined; // an event of another kind
    if (typeof id === "string" && Number.isFinite(value)) return report(flag, "reward", { id, reward: value });
    return onError(new Error("Expected a finite value, and the id of a choice (flagMetadata.id), got another."));
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
      throw new Error(`Expected a reply of tacit, got status ${status}.`);
    await new Promise((done) => setTimeout(done, wait));
  }
}
