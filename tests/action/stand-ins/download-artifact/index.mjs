process.env.GITHUB_SERVER_URL = "https://github.com";
const { default: toolkit } = await import(process.env.ACT_TEST_ARTIFACT);

const client = new toolkit.DefaultArtifactClient();
const given = process.env["INPUT_ARTIFACT-IDS"];
const id = given ? Number(given) : (await client.getArtifact(process.env.INPUT_NAME)).artifact.id;
const { downloadPath } = await client.downloadArtifact(id, { path: process.env.INPUT_PATH });
console.log(`Artifact ${id} in ${downloadPath}`);
