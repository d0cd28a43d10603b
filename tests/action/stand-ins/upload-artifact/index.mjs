import { appendFileSync, existsSync, readdirSync, statSync } from "node:fs";
import http from "node:http";
import { basename, dirname, join } from "node:path";

// act pads the signature in its upload address with "=", which the blob client takes for a separator and drops.
const request = http.request;
http.request = (options, ...rest) => {
  if (options.path) options.path = options.path.replace(/([?&]sig=[\w-]{43})(?=&|$)/, "$1%3D");
  return request.call(http, options, ...rest);
};

const { GITHUB_SERVER_URL, GITHUB_REPOSITORY, GITHUB_RUN_ID } = process.env;

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
const unpacked = given("archive") === "false";
const name = unpacked ? basename(folder) : given("name");
if (given("overwrite") === "true") await client.deleteArtifact(name).catch(() => {});
const { id, size } = await client.uploadArtifact(name, files, unpacked ? dirname(folder) : folder);
const url = `${GITHUB_SERVER_URL}/${GITHUB_REPOSITORY}/actions/runs/${GITHUB_RUN_ID}/artifacts/${id}`;
appendFileSync(process.env.GITHUB_OUTPUT, `artifact-id=${id}\nartifact-url=${url}\n`);
console.log(`Artifact ${name}: ${files.length} files, ${size} bytes`);
