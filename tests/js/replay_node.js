// node replay_node.js MODULE TASK FILE: prints what the task returns, as JSON.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { tasks } from "./replay.js";

const [module, task, file] = process.argv.slice(2);
const tacit = await import(pathToFileURL(module));
const given = JSON.parse(readFileSync(file));
process.stdout.write(JSON.stringify(await tasks[task](tacit, given)));
