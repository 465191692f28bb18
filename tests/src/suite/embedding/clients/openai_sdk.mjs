// OpenAI's SDK for Node. One argument, JSON: `url`, `key`, `packages` (the folder around node_modules).

import assert from "node:assert/strict";
import { createRequire } from "node:module";

const task = JSON.parse(process.argv[2]);
const OpenAI = createRequire(`${task.packages}/`)("openai");

/** Bodies of the requests, as they went out. */
const sent = [];

function connect(path = "/v1", apiKey = task.key) {
  const watched = (url, init) => {
    sent.push(init.body ? JSON.parse(init.body) : undefined);
    return fetch(url, init);
  };
  return new OpenAI({ baseURL: task.url + path, apiKey, maxRetries: 0, fetch: watched });
}

/** Asserts that a call is refused with exactly this class, which has our code and shows our message. */
async function refused(Kind, status, code, call) {
  const error = await call.then(
    () => assert.fail(`${Kind.name} was not thrown`),
    (error) => error,
  );
  assert.equal(error.constructor, Kind, String(error));
  assert.equal(error.status, status);
  assert.equal(error.code, code);
  assert.equal(error.message, `${status} ${error.error.message}`);
  assert.ok(error.requestID);
}

const client = connect();
const embed = (body) => client.embeddings.create({ model: "first", ...body });

// The SDK asks for base64 by itself and decodes it.
const one = await embed({ input: "hello world" });
assert.equal(sent.at(-1).encoding_format, "base64");
assert.deepEqual(one, {
  object: "list",
  data: [{ object: "embedding", index: 0, embedding: [4.5, 1, -4.5, 0.5] }],
  model: "first",
  usage: { prompt_tokens: 2, total_tokens: 2 },
});

const input = ["world", "hello", "mate", "hello", "good day"];
for (const encoding of [{}, { encoding_format: "float" }]) {
  const many = await embed({ input, ...encoding });
  assert.deepEqual(many.data.map((entry) => entry.index), [0, 1, 2, 3, 4]);
  assert.deepEqual(many.data.map((entry) => entry.embedding[0]), [5, 4, 13, 4, 6.5]);
  assert.equal(many.usage.total_tokens, 6);
}
const text = await embed({ input: "hello", encoding_format: "base64" });
assert.equal(text.data[0].embedding, "AACAQAAAgD8AAIDAAAAAPw==");

assert.deepEqual((await embed({ input: "hello", dimensions: 2 })).data[0].embedding, [4, 1]);
const second = await embed({ model: "second", input: "hello", prompt_name: "query" });
assert.deepEqual(second.data[0].embedding, [8, 2, -8, 0.5]);
const byPath = await connect("/tei/second/v1").embeddings.create({ model: "whatever", input: "hello" });
assert.deepEqual([byPath.model, byPath.data[0].embedding[1]], ["second", 2]);

const ids = [];
for await (const model of client.models.list()) ids.push(model.id);
assert.deepEqual(ids, ["first", "second"]);
assert.equal((await client.models.retrieve("second")).id, "second");

const { BadRequestError, NotFoundError, AuthenticationError } = OpenAI;
await refused(BadRequestError, 400, "model_not_found", embed({ model: "third", input: "hello" }));
await refused(BadRequestError, 400, "invalid_request", embed({ input: [] }));
await refused(BadRequestError, 400, "invalid_request", embed({ input: "hello", dimensions: 9 }));
await refused(BadRequestError, 400, "invalid_request", embed({ input: [4, 5] }));
await refused(NotFoundError, 404, "not_found", client.models.retrieve("third"));
const stranger = connect("/v1", "another");
await refused(AuthenticationError, 401, "unauthorized", stranger.embeddings.create({ model: "first", input: "hello" }));
await refused(AuthenticationError, 401, "unauthorized", stranger.models.list());
