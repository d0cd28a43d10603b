import { existsSync, readdirSync, statSync } from "node:fs";
import http from "node:http";
import { join } from "node:path";

// act pads the signature in its upload address with "=", which the blob client takes for a separator and drops.
const request = http.request;
http.request = (options, ...rest) => {
  if (options.path) options.path = options.path.replace(/([?&]sig=[\w-]{43})(?=&|$)/, "$1%3D");
  return request.call(http, options, ...rest);
};

// The client refuses servers other than GitHub's; the address it uses is ACTIONS_RESULTS_URL.
process.env.GITHUB_SERVER_URL = "https://github.com";
const { default: toolkit } = await import(process.env.ACT_TEST_ARTIFACT);

const given = (name) => process.env[`INPUT_${name.toUpperCase()}`] ?? "";
const inside = (path) =>
  statSync(path).isDirectory() ? readdirSync(path).flatMap((name) => inside(join(path, name))) : [path];

const folder = given("path");
const files = existsSync(folder) ? inside(folder) : [];
const client = new toolkit.DefaultArtifactClient();
if (files.length === 0) {
  console.log(`No files were found in ${folder}`);
  process.exit(given("if-no-files-found") === "error" ? 1 : 0);
}
if (given("overwrite") === "true") await client.deleteArtifact(given("name")).catch(() => {});
const { size } = await client.uploadArtifact(given("name"), files, folder);
console.log(`Artifact ${given("name")}: ${files.length} files, ${size} bytes`);
