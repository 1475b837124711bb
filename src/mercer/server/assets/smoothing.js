// The slider: more or less smoothing of what was released, which costs no privacy.

import { h, newId, section } from "./dom.js";
import { widths } from "./numbers.js";

const STEPS = 240;

/**
 * Bandwidths from the finest (0) over the automatic to the widest (1), evenly in their logarithm.
 * Beyond the width of a column nothing is left to smooth, so the way ends there.
 */
export class Way {
  constructor({ bandwidth, finest, widest }, bounds) {
    this.automatic = bandwidth;
    this.finest = finest;
    this.widest = bounds.map(([low, high], k) =>
      Math.max(Math.min(widest[k] ?? high - low, high - low), bandwidth[k], finest[k]));
    const shares = bandwidth.map((value, k) => this.share(value, k));
    this.middle = shares.reduce((sum, share) => sum + share, 0) / shares.length;
  }

  get open() {
    return this.finest.every((value, k) => this.widest[k] > 1.01 * value);
  }

  share(value, k) {
    const length = Math.log(this.widest[k] / this.finest[k]);
    return length > 0 ? Math.min(Math.max(Math.log(value / this.finest[k]) / length, 0), 1) : 0;
  }

  /** The bandwidths at a share of the way. */
  at(share) {
    return this.automatic.map((middle, k) => {
      const [from, to, part] = share < this.middle
        ? [this.finest[k], middle, share / this.middle]
        : [middle, this.widest[k], (share - this.middle) / (1 - this.middle || 1)];
      const value = from * (to / from) ** part;
      return Math.min(Math.max(value, this.finest[k]), this.widest[k]);
    });
  }

  /** Where on the way a bandwidth lies, by its first column. */
  find(bandwidth) {
    const [value] = bandwidth;
    const [middle] = this.automatic;
    const part = (from, to) => (to > from ? Math.log(value / from) / Math.log(to / from) : 0);
    const share = value < middle
      ? this.middle * part(this.finest[0], middle)
      : this.middle + (1 - this.middle) * part(middle, this.widest[0]);
    return Math.min(Math.max(share, 0), 1);
  }
}

/**
 * The section with the slider: {element, set}.  `changed(bandwidth or null for automatic)` on every
 * move; `set` puts words and slider elsewhere.
 */
export function smoothingSection({ live, columns, bounds, smoothing }, chosen, changed) {
  const title = "Smoothing";
  if (!smoothing.free) {
    const known = smoothing.bandwidth ? ` Its bandwidth is ${widths(columns, smoothing.bandwidth)}.` : "";
    return still(section(title, h("p", {}, (live
      ? "A live release answers with the smoothing it was made with; that cannot be changed afterwards."
      : "This release was made with a fixed smoothing; it cannot be changed afterwards.") + known)));
  }
  const way = new Way(smoothing, bounds);
  if (!way.open) return still(section(title, h("p", {}, "This release is as smooth as it can be.")));
  const [slider, words, automatic] = [
    h("input", { id: newId("slider"), type: "range", min: "0", max: String(STEPS), step: "1" }),
    h("output", { class: "bandwidth", "data-part": "bandwidth" }),
    h("button", { type: "button" }, "Automatic"),
  ];
  words.setAttribute("for", slider.id);
  const show = (bandwidth) => {
    const text = widths(columns, bandwidth ?? way.automatic);
    const how = bandwidth ? "chosen by you" : "chosen automatically";
    words.replaceChildren(h("b", {}, `Bandwidth ${text}`), ` (${how})`);
    slider.setAttribute("aria-valuetext", `bandwidth ${text}, ${how}`);
    automatic.setAttribute("aria-disabled", String(!bandwidth));
  };
  slider.addEventListener("input", () => {
    const bandwidth = way.at(slider.valueAsNumber / STEPS);
    show(bandwidth);
    changed(bandwidth);
  });
  const set = (bandwidth) => {
    slider.value = String(Math.round((bandwidth ? way.find(bandwidth) : way.middle) * STEPS));
    show(bandwidth);
  };
  automatic.addEventListener("click", () => {
    set(null);
    changed(null);
  });
  set(chosen);
  return { set, element: section(title,
    h("p", {}, words),
    h("label", { for: slider.id, class: "unseen" }, "Bandwidth of the smoothing"),
    slider,
    h("div", { class: "ends", "aria-hidden": "true" }, h("span", {}, "more detail"), h("span", {}, "smoother")),
    h("p", { class: "row" }, automatic),
    h("p", { class: "quiet small" },
      "Free: costs no privacy. Only the released numbers are smoothed. The bandwidth is a standard " +
      "deviation, in the units of the data.")) };
}

const still = (element) => ({ element, set() {} });

/** A bandwidth from the address, kept within what the release can do; null if there is none. */
export function allowed(bandwidth, { smoothing, bounds }) {
  if (!smoothing.free || bandwidth?.length !== smoothing.bandwidth.length) return null;
  const way = new Way(smoothing, bounds);
  return bandwidth.map((value, k) => Math.min(Math.max(value, way.finest[k]), way.widest[k]));
}
