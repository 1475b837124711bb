// The page of one release.

import * as api from "./api.js";
import { curvePainter } from "./curve.js";
import { h, rested, section, sectionWith, table } from "./dom.js";
import { evaluateSection } from "./evaluate.js";
import { save } from "./files.js";
import { ledgerSection } from "./ledger.js";
import { mapPainter } from "./map.js";
import { count, csv, group, heading, listed, place, plain, ranges, short, widths } from "./numbers.js";
import { Plot } from "./plot.js";
import { allowed, smoothingSection } from "./smoothing.js";

const POINTS = 401;
const SIDE = 101;
const LEVEL = 0.95;
const CLIPPED = "Values outside the bounds are counted at the bounds.";

/** A release's page: {element, stop}.  `remember(bandwidth)` keeps it in the address. */
export function releasePage(details, wanted, { remember, failed, signal }) {
  const { name, live, columns, bounds, dimension } = details;
  const state = { bandwidth: allowed(wanted, details) };
  let seen; // the bandwidth of what is shown; undefined before anything is
  const answers = h("p", { "data-part": "answers" });
  const tell = (number) => {
    answers.textContent = number
      ? `${count(number, "point")} answered and stored so far.` : "No answer had to be stored so far.";
  };
  const drawn = (bandwidth) => {
    seen = bandwidth;
    if (live) refreshAnswers();
  };
  const answered = dimension < 3 ? () => live && refreshAnswers() : drawn;
  const box = evaluateSection(details, () => state.bandwidth, { answered, failed: back });
  const drawing = dimension < 3 ? pictureOf(details, state, { failed: back, drawn }) : null;
  const settled = rested(250, () => {
    if (signal.aborted) return; // another page is shown by now
    remember(state.bandwidth);
    box.refresh();
    accuracy.follow(state.bandwidth);
  });
  const smoothed = (bandwidth) => {
    state.bandwidth = bandwidth;
    drawing?.plot.reload();
    settled();
  };

  /** A new smoothing that cannot be had: the words say what is shown, and the wish is kept. */
  function back(error, again) {
    const wish = state.bandwidth;
    if (seen === undefined || String(wish) === String(seen)) {
      failed(error, again ?? settled);
      return;
    }
    state.bandwidth = seen;
    slider.set(seen);
    settled();
    failed(error, () => {
      slider.set(wish);
      smoothed(wish);
    });
  }

  async function refreshAnswers() {
    try {
      const newer = await api.release(name, signal);
      if (Number.isFinite(newer.answers)) tell(newer.answers);
    } catch {
      // the count is a courtesy: the next answer brings it up to date
    }
  }

  if (live && Number.isFinite(details.answers)) tell(details.answers);
  const accuracy = accuracySection(details);
  const slider = smoothingSection(details, state.bandwidth, smoothed);
  accuracy.follow(state.bandwidth);
  const ledger = h("div", {});
  if (details.dataset) {
    api.dataset(details.dataset, signal)
      .then((found) => ledger.replaceChildren(ledgerSection(found)))
      .catch(() => {}); // a ledger that is not shown here is no fault of the release
  }
  const element = h("article", {},
    h("p", { class: "crumbs" }, h("a", { href: "#/" }, "← All releases")),
    h("h1", { tabindex: "-1" }, heading(details)),
    h("p", { class: "quiet facts" },
      h("code", {}, name), ` · ${ranges(columns, bounds)}`),
    promise(details),
    details.findings.length ? section("What the release itself tells",
      ...details.findings.map(({ words }) => h("p", { "data-part": "finding" }, plain(words)))) : null,
    h("div", { class: "two" },
      drawing ? drawing.element : h("div", {}, section("Picture", h("p", {},
        "This release has three columns: it can be evaluated, but not drawn. " + CLIPPED)), box.element),
      h("div", { class: "side" },
        slider.element,
        live ? section("A live release", answers, h("p", {},
          "It answers at any point, and the same point gets the same answer for ever, whoever asks. " +
          "Asking costs no further privacy: all of it was paid for when the release was made.")) : null,
        downloads(details, drawing),
        drawing ? null : accuracy.element)),
    drawing ? h("div", { class: "two" }, box.element, h("div", { class: "side" }, accuracy.element)) : null,
    statement(details),
    ledger);
  drawing?.plot.reload();
  return {
    element,
    stop() {
      box.stop();
      accuracy.stop();
      drawing?.plot.stop();
    },
  };
}

export function promise({ promise: said, private: kept, live }) {
  const words = plain(said);
  const badges = live ? [h("span", { class: "badge live" }, "Live"), " "] : [];
  return kept
    ? h("p", { class: "promise" }, h("span", { class: "badge" }, "Private"), " ", ...badges, unbroken(words))
    : h("p", { class: "promise broken" }, h("strong", { class: "badge" }, "Not private"), " ", ...badges,
        "Made with a seed, for trials: whoever knows the seed can take the noise away. Drawn without a " +
        "seed it would promise ", unbroken(words.replace(/^not private[^:]*:\s*/i, "")), ".");
}

/** "epsilon = 1, delta = 1e-6, one row" with line breaks after commas only. */
function unbroken(words) {
  return words.split(", ").flatMap((part, i) => [i ? ", " : "", h("span", { class: "whole" }, part)]);
}

function pictureOf(details, state, { failed, drawn }) {
  const { name, live, columns, bounds, dimension, title } = details;
  const flat = dimension === 1;
  const load = async (windows, signal) => {
    const chosen = state.bandwidth;
    const bandwidth = chosen?.join(",");
    const [[from, to], [low, high] = []] = windows;
    const data = await (flat
      ? api.curve(name, live ? { count: POINTS, level: LEVEL } : { from, to, count: POINTS, level: LEVEL, bandwidth }, signal)
      : api.map(name, live ? { side: SIDE } : { x_from: from, x_to: to, y_from: low, y_to: high, side: SIDE, bandwidth }, signal));
    return { ...data, chosen };
  };
  const numbers = h("div", {});
  const plot = new Plot({
    columns, bounds, title, load, failed, refetch: !live,
    painter: flat ? curvePainter(columns[0]) : mapPainter(columns),
    loaded: (data) => {
      if (flat) numbers.replaceChildren(tableOf(columns[0], data));
      drawn(data.chosen);
    },
  });
  const where = live ? "at each point by itself" : "everywhere at once";
  const words = flat
    ? `Line: the released density. Shaded: where the same estimate without noise lies, ${where} with ${100 * LEVEL} % probability; sampling error is not in it.`
    : "Light is dense, dark is not. “Noise ±” is the standard error due to privacy, anywhere on the map; sampling error is not in it.";
  return {
    plot,
    element: sectionWith("Picture", plot.buttons,
      h("figure", {}, plot.element, h("figcaption", { class: "quiet small" }, words,
        live ? " A live release is drawn as it was released, so it may go below zero, and from the same points at every zoom." : "", ` ${CLIPPED}`)),
      flat ? h("details", {}, h("summary", {}, "The same as a table"), numbers) : null),
  };
}

/** The noise in words: {element, follow, stop}.  The words name the bandwidth they are for. */
function accuracySection({ name, columns, accuracy: { words }, smoothing }) {
  const said = h("p", { "data-part": "accuracy" });
  const say = (which, text) => said.replaceChildren(smoothing.free ? `${which}: ` : "", plain(text));
  const ask = api.latest((bandwidth, signal) => api.releaseAt(name, bandwidth, signal));
  const follow = async (bandwidth) => {
    ask.stop();
    if (!bandwidth) return say("At the automatic bandwidth", words);
    try {
      const found = await ask(bandwidth);
      if (found) say(`At the bandwidth chosen, ${widths(columns, bandwidth)}`, found.accuracy.words);
    } catch {
      // the words there name their own bandwidth, so they stay true
    }
  };
  say("At the automatic bandwidth", words);
  return { element: section("Accuracy", said), follow, stop: ask.stop };
}

function tableOf(column, data) {
  const step = Math.max(1, Math.floor((data.x.length - 1) / 20));
  const chosen = [...data.x.keys()].filter((i) => i % step === 0);
  const width = data.x.at(-1) - data.x[0];
  return table(`Every ${step}th point of the curve shown`, [column, "density", "band from", "to"],
    chosen.map((i) => [place(data.x[i], width), short(data.values[i]), short(data.lower[i]), short(data.upper[i])]));
}

function downloads({ name, live, columns, downloads: offered }, drawing) {
  const { file, statement: words } = api.addresses(name);
  const item = (...parts) => h("li", {}, ...parts);
  const flat = columns.length === 1;
  const asCsv = () => {
    const { data } = drawing.plot;
    if (!data) return;
    const rows = flat
      ? data.x.map((x, i) => [x, data.values[i], data.lower[i], data.upper[i]])
      : data.x.flatMap((x, i) => data.y.map((y, j) => [x, y, data.values[i][j]]));
    save(`${name}-${flat ? "curve" : "map"}.csv`, csv([...columns, "value", ...(flat ? ["lower", "upper"] : [])], rows));
  };
  return section("Downloads", h("ul", { class: "plain" },
    offered?.release ? item(h("a", { href: file, download: `${name}.json` }, "The release"), " (JSON, for mercer.load)") : null,
    item(h("a", { href: words, download: `${name}-statement.txt` }, "The statement"), " (text)"),
    drawing ? item(h("button", { type: "button", class: "link", onclick: asCsv }, flat ? "The curve shown" : "The map shown"), " (CSV)") : null,
    live ? item(h("span", { class: "quiet" }, "A live release has no file: it lives in the service.")) : null));
}

function statement({ statement: said, columns }) {
  const fact = (term, words) => [h("dt", {}, term), h("dd", {}, words)];
  const who = said.unit === "row" ? "one row" : `all rows of one ${said.unit}`;
  return section("What was promised", h("div", { class: "two" },
    h("div", {}, h("p", {}, plain(said.words)), said.attack ? h("p", {}, said.attack) : null),
    h("dl", {},
      fact("epsilon", short(said.epsilon)),
      fact("delta", said.delta === 0 ? "none: pure" : short(said.delta)),
      fact("who is protected", who),
      fact("records", group(String(said.n))),
      fact("columns", listed(columns)),
      fact("mechanism", said.mechanism),
      fact("made by", `Mercer ${said.version}`))));
}
