import { appendFileSync } from "node:fs";

process.env.GITHUB_SERVER_URL = "https://github.com"; // the client takes any other for one without caches
const { default: toolkit } = await import(process.env.ACT_TEST_CACHE);

const { INPUT_PATH, INPUT_KEY, GITHUB_OUTPUT } = process.env;
const found = await toolkit.restoreCache([INPUT_PATH], INPUT_KEY);
appendFileSync(GITHUB_OUTPUT, `cache-hit=${found === INPUT_KEY}\n`);
console.log(`Cache ${INPUT_KEY}: ${found ?? "not found"}`);
