/** A `send` for Outbox: each report leaves with a token behind it, a blind signature by which somebody who knows accounts
 * bounds how many reports each sends. For robustness alone: no privacy rests on it.
 * issuer: the issuer's public key, SPKI in DER. ask: from a blinded message to the issuer's answer. */
export function admitting(
  issuer: Uint8Array,
  ask: (blinded: Uint8Array) => Promise<Uint8Array>,
  send: (report: Uint8Array) => Promise<boolean>,
): (report: Uint8Array) => Promise<boolean>;
