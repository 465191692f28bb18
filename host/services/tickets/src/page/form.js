// The ticket form: shows the category, the action, and an answer with its sources.

import { askForKey, bearer, call, form } from "../call.js";
import { byId, facts, h, link, percent } from "../dom.js";

function decision({ category, action, confidence, alternatives, reasoning, extracted_values: values, language }) {
  const others = (alternatives ?? []).map((other) => `${other.name} (${percent(other.confidence)})`).join(", ");
  const read = Object.entries(values ?? {}).map(([name, value]) => `${name}: ${value}`).join(", ");
  return [
    h("p", { class: "big", id: "category" }, category.name),
    facts([
      ["Confidence", percent(confidence)],
      ["Alternatives", others],
      ["Action", action.description || action.name],
      ["Reasoning", reasoning],
      ["Extracted values", read],
      ["Language", language],
    ]),
  ];
}

const source = ({ title, url, score, quote }) =>
  h(
    "li",
    {},
    link(url, title || url),
    score === undefined || score === null ? null : h("span", { class: "quiet" }, ` relevance ${percent(score)}`),
    quote ? h("blockquote", {}, quote) : null,
  );

function answer({ response, documents, reason, auto_publish: isPublished }) {
  const sources = documents.length === 0 ? [] : [h("h3", {}, "Sources"), h("ol", { class: "sources" }, ...documents.map(source))];
  return [
    h("h3", {}, "Answer"),
    response === "" ? null : h("p", { class: "text", id: "response" }, response),
    facts([
      ["Published", isPublished ? "without a clerk" : "after a clerk has read it"],
      ["Reason", reason],
    ]),
    ...sources,
  ].filter((element) => element !== null);
}

export function start({ base }) {
  const section = byId("tickets");
  form(section, async () => {
    const text = byId("ticket").value;
    const headers = bearer(byId("tickets-key").value);
    const { triage, session_id } = await call(`${base}/api/v1/triage`, { body: { text }, headers });
    const body = { text, session_id, category: triage.category.name, action: triage.action.name };
    const answered = await call(`${base}/api/v1/answer`, { body, headers }).then(answer, (error) => [
      h("p", { class: "problem" }, String(error.message)),
    ]);
    return [...decision(triage), ...answered];
  });
  return askForKey(section, `${base}/api/openapi.json`);
}
