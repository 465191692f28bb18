// Makes elements. What becomes a child is an element or text, never markup: names and log lines are anybody's text.

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

/** An element; attributes that are functions listen to the event of their name. */
export const h = (name, attributes = {}, ...children) => build(document.createElement(name), attributes, children);

/** The same for the elements of drawings. */
export const svg = (name, attributes = {}, ...children) =>
  build(document.createElementNS(SVG, name), attributes, children);

/** Sets the text where it differs: what a screen reader announces, or what is selected, stays as it is otherwise. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Puts what `make` gives into `parent` when `value` differs from the one before; says nothing twice. */
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
 * Keeps the children of `parent` in step with items: a row whose key stays keeps its element, and with it focus and
 * whatever is open. `make` gives a row's `element` and its `update`.
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

/** Terms with what they are, for a `dl`; those without anything are left out. */
export const pairs = (all) =>
  all
    .filter(([, value]) => value !== undefined && value !== null && value !== "")
    .map(([term, value]) => h("div", {}, h("dt", {}, term), h("dd", {}, value)));

/** A list of terms with what they are. */
export const facts = (all) => h("dl", { class: "facts" }, ...pairs(all));

/** Says something to whoever cannot see it. */
export function announce(text) {
  // The same words twice are said twice.
  document.getElementById("announcement").replaceChildren(h("span", {}, text));
}
