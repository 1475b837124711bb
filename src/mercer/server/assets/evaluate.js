// A box for points, a table of values.

import { values as ask, latest } from "./api.js";
import { h, newId, section, table } from "./dom.js";
import { copy, save } from "./files.js";
import { count, csv, listed, points, ranges, short } from "./numbers.js";

const LEVEL = 0.95;
const SHOWN = 500; // rows on the screen; files have all

/** `bandwidth()` is the smoothing in force; `answered()` is called after every answer. */
export function evaluateSection({ name, live, columns, bounds }, bandwidth, answered) {
  const [box, hint, problem] = [newId("points"), newId("hint"), newId("problem")];
  const several = columns.length > 1;
  const area = h("textarea", {
    id: box, rows: several ? "4" : "2", spellcheck: "false", autocomplete: "off",
    autocapitalize: "off", inputmode: "text", enterkeyhint: "go", placeholder: example(bounds),
    "aria-describedby": `${hint} ${problem}`,
  });
  const alert = h("p", { id: problem, class: "problem", role: "alert", "data-part": "problem" });
  const status = h("p", { class: "unseen", role: "status" });
  const results = h("div", { "data-part": "results" });
  const send = latest((body, signal) => ask(name, body, signal));
  let last = null; // points in the table, so that a new smoothing can refresh it

  const fail = (error, asked = []) => {
    area.setAttribute("aria-invalid", "true");
    alert.replaceChildren(h("b", {}, "Not evaluated. "), kindly(error, asked, columns, bounds));
  };
  const evaluate = async (asked) => {
    alert.replaceChildren();
    area.removeAttribute("aria-invalid");
    try {
      const chosen = bandwidth();
      const answer = await send({ points: asked, bandwidth: chosen, band: LEVEL, simultaneous: true });
      if (answer === null) return;
      last = asked;
      results.replaceChildren(...resultsOf(name, columns, answer, live));
      status.textContent = asked.length === 1
        ? `Density ${short(answer.values[0], 6)}` : `${count(asked.length, "value")} in the table below.`;
      answered?.();
    } catch (error) {
      fail(error, asked);
    }
  };
  const submit = (event) => {
    event.preventDefault();
    try {
      const asked = points(area.value, columns);
      if (asked.length) evaluate(asked);
      else fail(new Error(`There is no number in the box. Write, for example, ${example(bounds).replaceAll("\n", " ; ")}.`));
    } catch (error) {
      fail(error);
    }
  };
  area.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) submit(event);
  });

  const element = section("Values at points",
    h("form", { novalidate: true, onsubmit: submit },
      h("label", { for: box }, several ? `Points, one a line: ${columns.join(" ")}` : `Values of ${columns[0]}`),
      h("p", { id: hint, class: "quiet small" },
        several
          ? `${ranges(columns, bounds)}. Enter evaluates; Shift+Enter, or a semicolon, starts the next point.`
          : `${ranges(columns, bounds)}. Numbers apart by spaces, commas or lines. Enter evaluates.`),
      area, alert,
      h("p", { class: "row" }, h("button", { type: "submit", class: "main" }, "Evaluate"))),
    status, results,
    live ? h("p", { class: "quiet small" }, "The same point gets the same answer for ever.") : null);
  return { element, refresh: () => last && evaluate(last), stop: send.stop };
}

function resultsOf(name, columns, answer, live) {
  const band = answer.lower !== null && answer.lower !== undefined;
  const headings = [...columns, "value", ...(band ? ["lower", "upper"] : [])];
  const rows = answer.values.map((value, i) => [
    ...[answer.points[i]].flat(), value, ...(band ? [answer.lower[i], answer.upper[i]] : []),
  ]);
  const text = csv(headings, rows);
  const copied = h("span", { class: "quiet", role: "status" });
  const shown = rows.slice(0, SHOWN).map((row) =>
    row.map((value, k) => (k < columns.length ? String(value) : short(value, 6))));
  const more = rows.length > SHOWN ? ` The first ${SHOWN} are shown; the file has all.` : "";
  return [
    table(
      `Density of ${listed(columns)} at ${count(rows.length, "point")}` +
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
