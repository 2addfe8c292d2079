// node build.js: the modules of src as files in dist, without comments and spaces. Nothing else is changed:
// minifiers rewrite arithmetic (one of them Math.sqrt(x) as x ** .5, which engines may round as they like), and what
// runs on people's devices should be what is tested, and readable.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";

const at = (path) => new URL(path, import.meta.url);
const IMPORT = /^(?:import|export) \{ (.*) \} from "\.\/(.*)";$/gm;
const source = (name) => readFileSync(at(`src/${name}`), "utf8");

/** The file and those that it imports, in the order in which they run, without those that are `known`. */
function needed(name, known = new Set(), found = new Set()) {
  for (const [, , other] of source(name).matchAll(IMPORT)) if (!known.has(other)) needed(other, known, found);
  return found.add(name);
}

// Strings, templates, patterns: in these spaces count.
const KEPT = /"[^"\n]*"|`[^`]*`|\/(?! )(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/[\\\n])+\/[a-z]*/;
const COMMENT = /\/\/ .*|\/\*\*[^]*?\*\//;

function stripped(name) {
  const code = source(name)
    .replace(IMPORT, "")
    .replace(/^export /gm, "");
  const parts = code.split(new RegExp(`(${COMMENT.source}|${KEPT.source})`));
  const tight = (text) => text.replace(/\s+/g, " ").replace(/ ?([-+*/%<>=!&|?:,;(){}[\]^~]+) ?/g, "$1");
  return parts.map((text, i) => (i % 2 === 0 ? tight(text) : /^\/[/*]/.test(text) ? "" : text)).join("");
}

const listed = (name) => [...source(name).matchAll(IMPORT)].flatMap(([, names]) => names.split(", "));
const core = needed("index.js");
const others = ["features.js", "openfeature.js", "outbox.js"].map((name) => [name, needed(name, core)]);
const names = (files) =>
  [...files].flatMap((file) =>
    [...source(file).matchAll(/^export (?:async )?(?:const|function|class) (\w+)/gm)].map(([, own]) => own),
  );
const inside = new Set(names(core));
const taken = (files) => [...new Set([...files].flatMap(listed))].filter((name) => inside.has(name));

mkdirSync(at("dist"), { recursive: true });
const shared = new Set([...listed("index.js"), ...others.flatMap(([, files]) => taken(files))]);
const write = (name, files, head, exported) => {
  const code = [...files].map(stripped).join("");
  writeFileSync(at(`dist/${name}`), `${head}${code}export { ${[...exported].join(", ")} };\n`);
};
write("index.js", core, "", shared);
const head = (names) => (names.length > 0 ? `import { ${names.join(", ")} } from "./index.js";\n` : "");
for (const [name, files] of others) write(name, files, head(taken(files)), names(files));
