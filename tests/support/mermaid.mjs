// Parses Mermaid charts, one a JSON string of the list on standard input, and prints for each its kind or its error.
// The parser asks its sanitiser for a document at start; this one has none, so it leaves texts as they are.
import { readFileSync } from "node:fs";
import { runInThisContext } from "node:vm";

globalThis.window = globalThis;
globalThis.addEventListener = () => {};
globalThis.Element = class {};
globalThis.document = { nodeType: 9, implementation: {}, createElement: () => ({}), addEventListener() {} };
runInThisContext(readFileSync(process.argv[2], "utf8"));
const said = [];
for (const chart of JSON.parse(readFileSync(0, "utf8"))) {
  try {
    said.push((await globalThis.mermaid.parse(chart)).diagramType);
  } catch (error) {
    said.push(`error: ${error}`);
  }
}
process.stdout.write(JSON.stringify(said));
process.exit(0);
