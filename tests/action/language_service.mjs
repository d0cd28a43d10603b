// GitHub's own checker of workflows and actions: what it finds in each file, as one line of JSON.
import { readFileSync } from "node:fs";
import { validate } from "@actions/languageservice";
import { TextDocument } from "vscode-languageserver-textdocument";

async function check(path) {
  const document = TextDocument.create(`file://${path}`, "yaml", 0, readFileSync(path, "utf8"));
  const found = await validate(document);
  console.log(JSON.stringify({ path, found: found.map((one) => `line ${one.range.start.line + 1}: ${one.message}`) }));
}

process.argv.slice(2).forEach(check);
