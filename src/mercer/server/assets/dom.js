// Elements, in few words.  Text is always set as text, never as markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

/** An HTML element: h("a", {href: "#/", onclick: f}, "text", child). */
export function h(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

/** An SVG element. */
export function s(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

/** Whether a finger is what people point with here. */
export const byFinger = () => matchMedia("(pointer: coarse)").matches;

let last = 0;

/** A new id, for labels and descriptions. */
export function newId(stem) {
  last += 1;
  return `${stem}-${last}`;
}

/** A section with its heading, which names it. */
export function section(title, ...children) {
  return sectionWith(title, null, ...children);
}

/** The same with something beside the heading. */
export function sectionWith(title, beside, ...children) {
  const id = newId("section");
  const heading = h("h2", { id }, title);
  return h("section", { "aria-labelledby": id },
    beside ? h("div", { class: "tools" }, heading, beside) : heading, ...children);
}

/** A table inside a box that scrolls by itself where the screen is narrow. */
export function table(caption, headings, rows) {
  const id = newId("caption");
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-labelledby": id },
    h("table", { class: headings.length > 4 ? "many" : null },
      h("caption", { id }, caption),
      h("thead", {}, h("tr", {}, headings.map((text) => h("th", { scope: "col" }, text)))),
      h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell) => h("td", { class: isNumber(cell) ? "whole" : null }, cell)))))));
}

const isNumber = (cell) => /^-?[\d.,]+(e-?\d+)?$/.test(cell); // which must not break at a minus

/** Call at most once a frame, with the latest arguments. */
export function eachFrame(call) {
  let waiting = null;
  return (...values) => {
    const scheduled = waiting !== null;
    waiting = values;
    if (!scheduled) {
      requestAnimationFrame(() => {
        const latest = waiting;
        waiting = null;
        call(...latest);
      });
    }
  };
}

/** Call once things have rested for so many milliseconds. */
export function rested(milliseconds, call) {
  let timer = 0;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => call(...values), milliseconds);
  };
}
