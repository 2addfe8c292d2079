// How a device asks for something: without cookie and referrer, never from a cache and into none, and not for ever.
const PATIENCE = 30e3; // milliseconds, with a server that does not answer

export const quiet = () => ({
  credentials: "omit",
  referrerPolicy: "no-referrer",
  cache: "no-store", // an ETag that comes back is a cookie
  signal: AbortSignal.timeout(PATIENCE),
});
