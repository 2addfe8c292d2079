/** A public document that a device does not act by. */
export class BadBillboard extends Error {
  name = "BadBillboard";
}

/** The device's own limit: no more reports this week, whatever a server asks. */
export class TooManyReports extends Error {
  name = "TooManyReports";
}
