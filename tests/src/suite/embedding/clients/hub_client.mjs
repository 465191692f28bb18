// Hugging Face's inference client for Node, and a service with `embedding.error_form = "sentence"`. One argument, JSON: `url`,
// `key`, `packages` (the folder around node_modules).

import assert from "node:assert/strict";
import { createRequire } from "node:module";

const task = JSON.parse(process.argv[2]);
const { InferenceClient } = createRequire(`${task.packages}/`)("@huggingface/inference");

/** A client that posts to the very address that it is given. */
const connect = (path = "", key = task.key) => new InferenceClient(key, { endpointUrl: task.url + path });

/** Asserts that a call fails with this status, and that the client shows our sentence. */
async function refused(status, words, call) {
  const error = await call.then(
    () => assert.fail(`${status} was not thrown`),
    (error) => error,
  );
  assert.equal(error.name, "ProviderApiError", String(error));
  assert.equal(error.httpResponse.status, status);
  const { error: sentence, message } = error.httpResponse.body;
  assert.equal(sentence, message);
  assert.ok(sentence.includes(words), sentence);
  assert.equal(error.message, `Failed to perform inference: ${sentence}`);
  assert.ok(error.httpResponse.requestId);
}

const first = connect();
const embed = (inputs, options) => first.featureExtraction({ inputs, ...options });
assert.deepEqual(await embed("hello world"), [[4.5, 1, -4.5, 0.5]]);
assert.deepEqual(await embed(["world", "hello"]), [[5, 1, -5, 0.5], [4, 1, -4, 0.5]]);
assert.deepEqual(await embed("hello", { dimensions: 2 }), [[4, 1]]);
assert.deepEqual(await embed("hello", { truncate: true, truncation_direction: "right" }), [[4, 1, -4, 0.5]]);
const [normal] = await embed("hello", { normalize: true });
assert.ok(Math.abs(Math.hypot(...normal) - 1) < 1e-6);
const second = connect("/tei/second/embed");
assert.deepEqual(await second.featureExtraction({ inputs: "hello", prompt_name: "query" }), [[8, 2, -8, 0.5]]);

await refused(400, "prompt", second.featureExtraction({ inputs: "hello", prompt_name: "question" }));
await refused(400, "dimensions", embed("hello", { dimensions: 9 }));
await refused(401, "unauthorized", connect("", "another").featureExtraction({ inputs: "hello" }));
await refused(404, "/v1/models", connect("/tei/third").featureExtraction({ inputs: "hello" }));
