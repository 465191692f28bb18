// Makes elements. Children are elements or text, never markup, because names and log lines are not trusted.

const SVG = "http://www.w3.org/2000/svg";

function build(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (typeof value === "boolean") element.toggleAttribute(name, value);
    else if (value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== undefined && child !== null));
  return element;
}

/** Makes an element; an attribute that is a function listens to the event of its name. */
export const h = (name, attributes = {}, ...children) => build(document.createElement(name), attributes, children);

/** Makes an SVG element. */
export const svg = (name, attributes = {}, ...children) =>
  build(document.createElementNS(SVG, name), attributes, children);

/** Sets the text only if it differs, so that a screen reader does not repeat it and a selection stays. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Returns a function that calls `make` when its value differs from the one before. */
export function whenChanged(make) {
  let before;
  return (value) => {
    const now = JSON.stringify(value);
    if (now === before) return;
    before = now;
    make(value);
  };
}

/**
 * Returns a function that updates the children of `parent` from items. A row whose key is known keeps its element, with
 * its focus and open details. `make` returns a row's `element` and its `update`.
 */
export function rows(parent, keyOf, make) {
  let known = new Map();
  return (items) => {
    const next = new Map();
    for (const item of items) {
      const key = keyOf(item);
      const row = known.get(key) ?? make(item);
      row.update(item);
      next.set(key, row);
    }
    for (const [key, row] of known) if (!next.has(key)) row.element.remove();
    let at = 0;
    for (const { element } of next.values()) {
      if (parent.children[at] !== element) parent.insertBefore(element, parent.children[at] ?? null);
      at += 1;
    }
    known = next;
  };
}

/** Makes the terms and values of a `dl`; terms without a value are left out. */
export const pairs = (all) =>
  all
    .filter(([, value]) => value !== undefined && value !== null && value !== "")
    .map(([term, value]) => h("div", {}, h("dt", {}, term), h("dd", {}, value)));

/** Makes a list of terms and values. */
export const facts = (all) => h("dl", { class: "facts" }, ...pairs(all));

/** Announces a text to screen readers. */
export function announce(text) {
  // A new element, so that the same text is announced again.
  document.getElementById("announcement").replaceChildren(h("span", {}, text));
}
