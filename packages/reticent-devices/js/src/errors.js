/** A public document that a device does not act by. */
export class BadBillboard extends Error {
  name = "BadBillboard";
}
