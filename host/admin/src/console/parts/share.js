// A share of the calls, as a slider.

import { h, setText } from "./dom.js";

/** Makes a slider from 0 to 100 percent with its label; calls `changed` with each new value. */
export function share(id, label, value, changed = () => {}) {
  const shown = h("output", { for: id });
  const slider = h("input", { id, type: "range", min: "0", max: "100", step: "1", value: String(value), input: moved });
  function moved() {
    setText(shown, `${slider.value} %`);
    slider.setAttribute("aria-valuetext", `${slider.value} percent`);
    changed(Number(slider.value));
  }
  function set(value) {
    slider.value = String(value);
    moved();
  }
  moved();
  const element = h("div", { class: "share" }, h("label", { for: id }, label), slider, shown);
  return { element, value: () => Number(slider.value), set };
}
