// A box for points, a table of values.

import { values as ask, latest } from "./api.js";
import { byFinger, h, newId, section, table } from "./dom.js";
import { copy, save } from "./files.js";
import { count, csv, doubt, listed, points, ranges, short, some } from "./numbers.js";

const LEVEL = 0.95;
const SHOWN = 500; // rows on the screen; files have all
const DIGITS = 5; // likewise

/**
 * `bandwidth()` is the smoothing in force; `answered(bandwidth)` is called after every answer,
 * `failed(error)` where a new smoothing could not be had.
 */
export function evaluateSection({ name, live, columns, bounds }, bandwidth, { answered, failed }) {
  const [box, hint, problem, doubtful] = ["points", "hint", "problem", "doubt"].map(newId);
  const several = columns.length > 1;
  const finger = byFinger();
  const area = h("textarea", {
    id: box, rows: several ? "4" : "2", spellcheck: "false", autocomplete: "off",
    autocapitalize: "off", inputmode: "text", enterkeyhint: "go",
    placeholder: finger ? example(bounds).replaceAll("\n", "; ") : example(bounds),
    "aria-describedby": `${hint} ${doubtful} ${problem}`,
  });
  const doubts = h("p", { id: doubtful, class: "doubt small", "data-part": "doubt" });
  const alert = h("p", { id: problem, class: "problem", role: "alert", "data-part": "problem" });
  const status = h("p", { class: "unseen", role: "status" });
  const results = h("div", { "data-part": "results" });
  const send = latest((body, signal) => ask(name, body, signal));
  let last = null; // what the table answers: points, text of the box, bandwidth and the answer
  let pending = null; // what the box asks while the service computes
  let vain = false; // whether the box has asked something else since, in vain
  const behind = () => String(last.chosen) !== String(bandwidth()); // whether the slider went on

  const show = () => {
    if (!last) return;
    const earlier = vain || behind();
    results.classList.toggle("earlier", earlier);
    results.replaceChildren(...resultsOf(name, columns, last, live, earlier ? before() : ""));
  };
  const before = () =>
    `Earlier answer, for ${some(last.asked.map((point) => [point].flat().join(" ")))}` +
    (behind() ? ", before the bandwidth was changed. " : ". ");
  const fail = (error, asked = []) => {
    area.setAttribute("aria-invalid", "true");
    alert.replaceChildren(h("b", {}, "Not evaluated. "), kindly(error, asked, columns, bounds));
    status.textContent = "";
    vain = true;
    show();
    refresh(); // which this question may have cut short
  };
  const pardon = () => {
    alert.replaceChildren();
    area.removeAttribute("aria-invalid");
  };
  const evaluate = async (asked, text) => {
    const chosen = bandwidth();
    const answer = await send({ points: asked, bandwidth: chosen, band: LEVEL, simultaneous: true });
    if (answer === null) return false;
    last = { asked, text, chosen, answer };
    answered?.(chosen);
    return true;
  };
  const evaluateNow = async (asked, text) => {
    pending = { asked, text };
    try {
      if (!(await evaluate(asked, text))) return;
    } catch (error) {
      pending = null;
      fail(error, asked);
      return;
    }
    pending = null;
    vain = false;
    pardon();
    show();
    status.textContent = asked.length === 1
      ? `Density ${short(last.answer.values[0], DIGITS)}` : `${count(asked.length, "value")} in the table below.`;
  };
  /** The same points with another smoothing; what was said of the box stands. */
  async function refresh() {
    if (pending) {
      evaluateNow(pending.asked, pending.text);
      return;
    }
    if (!last || !behind()) return;
    try {
      if (await evaluate(last.asked, last.text)) show();
    } catch (error) {
      failed(error);
      show();
    }
  }
  const submit = (event) => {
    event.preventDefault();
    send.stop();
    pending = null;
    try {
      const asked = points(area.value, columns);
      if (asked.length) evaluateNow(asked, area.value);
      else fail(new Error(`There is no number in the box. Write, for example, ${example(bounds).replaceAll("\n", " ; ")}.`));
    } catch (error) {
      fail(error);
    }
  };
  area.addEventListener("input", () => {
    pardon();
    doubts.textContent = doubt(area.value, columns);
    if (vain && area.value === last?.text) {
      vain = false;
      show();
    }
  });
  area.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) submit(event);
  });

  const element = section("Values at points",
    h("form", { novalidate: true, onsubmit: submit },
      h("label", { for: box }, several ? `Points, ${finger ? "a semicolon between them" : "one a line"}: ${columns.join(" ")}` : `Values of ${columns[0]}`),
      h("p", { id: hint, class: "quiet small" },
        `${ranges(columns, bounds)}. `, howTo(several, finger)),
      area, doubts, alert,
      h("p", { class: "row" }, h("button", { type: "submit", class: "main" }, "Evaluate"))),
    status, results,
    live ? h("p", { class: "quiet small" }, "The same point gets the same answer for ever.") : null);
  return { element, refresh, stop: send.stop };
}

function howTo(several, finger) {
  if (several) return finger ? "" : "Enter evaluates; Shift+Enter, or a semicolon, starts the next point.";
  return finger ? "Numbers apart by spaces or commas." : "Numbers apart by spaces, commas or lines. Enter evaluates.";
}

function resultsOf(name, columns, { answer }, live, before) {
  const band = answer.lower !== null && answer.lower !== undefined;
  const headings = [...columns, "value", ...(band ? ["lower", "upper"] : [])];
  const rows = answer.values.map((value, i) => [
    ...[answer.points[i]].flat(), value, ...(band ? [answer.lower[i], answer.upper[i]] : []),
  ]);
  const text = csv(headings, rows);
  const copied = h("span", { class: "quiet", role: "status" });
  const shown = rows.slice(0, SHOWN).map((row) =>
    row.map((value, k) => (k < columns.length ? String(value) : short(value, DIGITS))));
  const more = rows.length > SHOWN ? ` The first ${SHOWN} are shown; the file has all.` : "";
  return [
    table(
      `${before}Density of ${listed(columns)} at ${count(rows.length, "point")}` +
        (band ? `, with a ${100 * LEVEL} % band for the noise, ${live ? "each point by itself" : "everywhere at once"}.` : ".") + more,
      [...columns, "density", ...(band ? ["band from", "to"] : [])], shown),
    h("p", { class: "row" },
      h("button", {
        type: "button",
        onclick: async () => {
          copied.textContent = (await copy(text)) ? "Copied." : "The browser did not allow it; use the file.";
        },
      }, "Copy as CSV"),
      h("button", { type: "button", onclick: () => save(`${name}-values.csv`, text) }, "Download CSV"),
      copied),
  ];
}

function example(bounds) {
  const at = (share) => bounds.map(([low, high]) => Number((low + share * (high - low)).toPrecision(2)));
  return bounds.length === 1 ? [0.2, 0.4, 0.6].map(at).join(" ") : [0.4, 0.6].map((share) => at(share).join(" ")).join("\n");
}

/** The service's words as a sentence; a point outside the bounds is named as it was typed. */
function kindly(error, asked, columns, bounds) {
  if (error.code === "out_of_domain") {
    const beyond = (point) => [point].flat().findIndex((value, k) => value < bounds[k][0] || value > bounds[k][1]);
    const point = asked.find((one) => beyond(one) >= 0);
    if (point !== undefined) {
      const k = beyond(point);
      return `${[point].flat()[k]} lies outside: ${ranges([columns[k]], [bounds[k]])} is all this ` +
        "release speaks of.";
    }
  }
  const text = error.message.trim();
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
