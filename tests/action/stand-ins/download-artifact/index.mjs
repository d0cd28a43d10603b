process.env.GITHUB_SERVER_URL = "https://github.com";
const { default: toolkit } = await import(process.env.ACT_TEST_ARTIFACT);

const client = new toolkit.DefaultArtifactClient();
const { artifact } = await client.getArtifact(process.env.INPUT_NAME);
const { downloadPath } = await client.downloadArtifact(artifact.id, { path: process.env.INPUT_PATH });
console.log(`Artifact ${artifact.name} in ${downloadPath}`);
