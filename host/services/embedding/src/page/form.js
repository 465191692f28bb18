// The embedding form: shows the similarity of two texts, the cosine of their vectors.

import { askForKey, bearer, call, form } from "../call.js";
import { byId, facts, h } from "../dom.js";

function cosine(a, b) {
  const dot = (x, y) => x.reduce((sum, value, at) => sum + value * y[at], 0);
  const lengths = Math.sqrt(dot(a, a) * dot(b, b));
  return lengths === 0 ? 0 : dot(a, b) / lengths;
}

/** Returns the loaded models, for the list of services. */
export async function rows({ base }) {
  const health = await call(`${base}/health`, { accepts: [503] }).catch(() => undefined);
  return [["Models", health?.models?.map(({ model_id: id, status }) => `${id} (${status})`).join(", ")]];
}

export function start({ base }) {
  const section = byId("embedding");
  form(section, async () => {
    const body = { input: [byId("text-a").value, byId("text-b").value] };
    const headers = bearer(byId("embedding-key").value);
    const { data, model, usage } = await call(`${base}/v1/embeddings`, { body, headers });
    const likeness = cosine(data[0].embedding, data[1].embedding);
    return [
      h("p", { class: "big", id: "likeness" }, likeness.toFixed(3)),
      h("meter", { min: "0", max: "1", value: Math.max(0, likeness).toFixed(3), "aria-label": "Similarity" }),
      facts([
        ["Similarity", "the cosine of the two vectors; 1 is the same direction"],
        ["Model", model],
        ["Numbers", `${data[0].embedding.length} for each text`],
        ["Tokens", String(usage.prompt_tokens)],
      ]),
    ];
  });
  return askForKey(section, `${base}/openapi.json`);
}
