// node replay_node.js FOLDER TASK FILE: prints what the task of replay.js returns, as JSON.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { done } from "./replay.js";

const [folder, task, file] = process.argv.slice(2);
process.stdout.write(await done(`${pathToFileURL(folder)}`, task, JSON.parse(readFileSync(file))));
