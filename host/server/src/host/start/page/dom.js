// Makes elements. Children are elements or text, never markup.

/** Makes an element with attributes; children that are null or undefined are left out. */
export function h(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) element.setAttribute(attribute, value);
  element.append(...children.filter((child) => child !== undefined && child !== null));
  return element;
}

/** Returns the element with an id. */
export const byId = (id) => document.getElementById(id);

/** Makes a list of terms and values; terms without a value are left out. */
export function facts(pairs) {
  const known = pairs.filter(([, value]) => value !== undefined && value !== null && value !== "");
  return h("dl", { class: "facts" }, ...known.map(([term, value]) => h("div", {}, h("dt", {}, term), h("dd", {}, value))));
}

/** Formats a share as a percentage. */
export const percent = (share) => `${(share * 100).toFixed(0)} %`;

/** Makes a link if the address is an HTTP URL; otherwise the text alone. */
export function link(address, text) {
  const isOfWeb = /^https?:\/\//.test(address ?? "");
  return isOfWeb ? h("a", { href: address, rel: "noreferrer" }, text) : h("span", {}, text);
}
