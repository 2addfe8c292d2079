export { Choice, LocalClient, ShuffleClient } from "./device.js";
export { Schema } from "./features.js";
export { BadBillboard, TooManyReports } from "./errors.js";
