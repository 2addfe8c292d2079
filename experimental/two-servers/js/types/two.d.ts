import type { Arms, Choice, Cost, Fields, Own } from "../../../../packages/reticent-devices/js/types/index.js";

/** The device for two aggregators, of which one may be bad: against both together nothing protects. Made by
 * openTwoServer. Chromium 137, Firefox 130, Safari 17 and Node 20 have what it needs, on https. */
export class TwoServerClient {
  private constructor();
  readonly dim: number;
  readonly rewards: [number, number];
  /** The worse of both claims. */
  readonly cost: Cost;
  /** mu of the Gaussian noise against the operator and against the helper. */
  readonly mu: [number, number];
  /** The pinned identities, in hexadecimal digits. */
  readonly parties: [string, string];
  readonly batch: null;
  readonly relation: string;
  choose(arms: Arms | Fields, actions?: string[] | Record<string, Fields>, floor?: number): Choice;
  /** The report of a choice, the same bytes however often it is asked for; null: no reward came. */
  randomize(choice: Choice, reward: number | null): Promise<Uint8Array>;
}

/** The device of a billboard that both aggregators have signed and that has not expired. Throws BadBillboard. */
export function openTwoServer(
  billboard: Uint8Array,
  options: Own & {
    /** 32 bytes of each, leader and helper, in the application's code: never from a billboard. */
    identities: [Uint8Array, Uint8Array];
    /** The application's limits on either claim. */
    epsilon?: number;
    delta?: number;
  },
): Promise<TwoServerClient>;
