export interface RewardingOptions {
  /** Of what replies under /v1/bandits: your own server, which adds the access key, or reticent. */
  baseUrl: string;
  headers?: Record<string, string>;
  /** What was not reported; by default it is written to the console. Nothing in it is a person's. */
  onError?: (error: Error) => void;
}

/** The same provider, with `track(flag, context, { value, id })`. */
export function rewarding<P extends object>(
  provider: P,
  options: RewardingOptions,
): P & {
  track(flag: string, context: unknown, details?: { value?: number; id?: string }): Promise<boolean | void> | void;
};
