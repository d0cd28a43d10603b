process.env.GITHUB_SERVER_URL = "https://github.com"; // the client takes any other for one without caches
const { default: toolkit } = await import(process.env.ACT_TEST_CACHE);

const number = await toolkit.saveCache([process.env.INPUT_PATH], process.env.INPUT_KEY);
console.log(`Cache ${process.env.INPUT_KEY} has the number ${number}`);
