export { LocalClient, ShuffleClient } from "./device.js";
export { BadBillboard } from "./errors.js";
