// A picture that can be zoomed and read off, by pointer and by keyboard.  What is drawn is the
// painter's business (curve.js, map.js); windows, modes and words are decided here.

import { byFinger, eachFrame, h, newId, rested } from "./dom.js";
import { place } from "./numbers.js";
import { inside, isWhole, panned, same, zoomed } from "./windows.js";

const STEP = 0.6; // one press of + shows this share of what was shown
const SELECTED = 5; // pixels before a press becomes a selection
const BY_POINTER = "Point at the picture to read it. Drag over it to zoom.";
const BY_FINGER = "Tap the picture to read it. Drag sideways over it to zoom.";
const HELP =
  "Arrow keys move along, plus and minus zoom, 0 shows all. R starts reading: then arrows go from " +
  "point to point, Page Up and Page Down go further, Escape ends.";

export class Plot {
  /** `load(windows, signal)` fetches what `painter` draws; `failed(error, again)` says so elsewhere. */
  constructor({ columns, bounds, painter, load, title, refetch = true, failed, loaded }) {
    Object.assign(this, { columns, bounds, painter, refetch, failed, loaded });
    this.windows = bounds.map((pair) => [...pair]);
    this.data = null;
    this.sample = null; // what is read off
    this.reading = false; // whether arrows read
    this.selection = null; // [[u0, u1], [v0, v1]] while dragging
    this.load = load;
    this.stopping = new AbortController();
    this.busy = false;
    this.outdated = false;
    this.touched = 0; // when the page itself was last scrolled
    this.build(title);
    this.draw = eachFrame(() => this.paint());
    this.fetch = rested(120, () => this.reload());
    this.say = rested(300, (words) => this.spoken.replaceChildren(words));
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(this.surface);
    this.scrolled = () => (this.touched = performance.now());
    addEventListener("scroll", this.scrolled, { passive: true });
  }

  build(title) {
    const help = newId("help");
    this.spoken = h("p", { class: "unseen", "aria-live": "polite", "data-part": "spoken" });
    this.readout = h("p", { class: "readout", "data-part": "reading" });
    this.range = h("p", { class: "range quiet", "data-part": "range" });
    this.surface = h("div", {
      class: `surface ${this.painter.kind}`, tabindex: "0", role: "application",
      "aria-label": `Picture: ${title}`, "aria-describedby": help, "data-part": "surface",
    }, this.painter.elements);
    const button = (text, label, act) =>
      h("button", { type: "button", "aria-label": label, title: label, onclick: act }, text);
    this.closer = button("+", "Zoom in", () => this.zoom(STEP));
    this.wider = button("−", "Zoom out", () => this.zoom(1 / STEP));
    this.whole = button("All", "Show the whole range", () => this.show(this.bounds));
    this.reader = button("Read", "Read values with the arrow keys", () => this.setReading(!this.reading, true));
    this.reader.setAttribute("aria-pressed", "false");
    // a press would take the focus first, which ends the reading, and then start it again
    this.reader.addEventListener("mousedown", (event) => event.preventDefault());
    this.buttons = h("div", { role: "group", "aria-label": "Zoom and read", class: "buttons" },
      this.closer, this.wider, this.whole, this.reader);
    // the reading is below: it may need two lines, and must not move what is pointed at
    this.element = h("div", { class: "plot" },
      this.surface, this.readout, this.range, this.spoken,
      h("p", { id: help, class: "keys quiet small unseen" }, HELP));
    this.listen();
    this.tell();
  }

  listen() {
    const on = (name, act, options) => this.surface.addEventListener(name, act.bind(this), options);
    on("pointerdown", this.press);
    on("pointermove", this.move);
    on("pointerup", this.release);
    on("pointercancel", this.cancel);
    on("pointerleave", (event) => {
      if (event.pointerType !== "touch" && !this.reading && !this.selection) this.read(null);
    });
    on("wheel", this.wheel, { passive: false });
    on("keydown", this.key);
    on("blur", () => this.setReading(false));
    on("dblclick", () => this.show(this.bounds));
  }

  /**
   * Fetch again, for a new smoothing or a new window.  One question at a time: what changes while
   * the service computes is asked for next, and only the newest.
   */
  async reload() {
    this.outdated = true;
    if (this.busy) return;
    this.busy = true;
    this.surface.setAttribute("aria-busy", "true");
    const { signal } = this.stopping;
    while (this.outdated && !signal.aborted) {
      this.outdated = false;
      try {
        this.take(await this.load(this.windows, signal));
      } catch (error) {
        if (!signal.aborted) this.failed(error, () => this.reload());
        break;
      }
    }
    this.busy = false;
    this.surface.removeAttribute("aria-busy");
  }

  take(data) {
    if (this.stopping.signal.aborted) return;
    this.data = data;
    if (this.sample) this.sample = this.painter.again(data, this.sample, this.windows);
    this.loaded?.(data);
    this.paint();
  }

  show(windows) {
    const next = windows.map((pair, axis) => inside(pair, this.bounds[axis]));
    if (same(next, this.windows)) return;
    this.windows = next;
    if (this.sample && !this.painter.visible(this.sample, next)) this.sample = null;
    this.tell();
    this.say(`Showing ${this.words()}`);
    this.draw();
    if (!this.refetch) return;
    this.surface.setAttribute("aria-busy", "true");
    this.fetch();
  }

  zoom(factor, shares = []) {
    this.show(this.windows.map((pair, axis) => zoomed(pair, this.bounds[axis], factor, shares[axis])));
  }

  pan(steps) {
    this.show(this.windows.map((pair, axis) => panned(pair, this.bounds[axis], steps[axis] ?? 0)));
  }

  words() {
    return this.windows
      .map(([low, high], axis) => {
        const [from, to] = [low, high].map((end) => place(end, high - low, true));
        return `${this.columns[axis]} ${from} to ${to}`;
      })
      .join(", ");
  }

  /** The range in words, and which buttons have something to do. */
  tell() {
    const whole = this.windows.every((pair, axis) => isWhole(pair, this.bounds[axis]));
    this.range.textContent = `Showing ${this.words()}${whole ? ", the whole range" : ""}`;
    // not `disabled`: that would take the focus away from under a finger
    for (const button of [this.wider, this.whole]) button.setAttribute("aria-disabled", String(whole));
  }

  paint() {
    if (!this.surface.isConnected) return;
    this.painter.paint(this);
    this.mark();
  }

  mark() {
    this.painter.mark(this);
    const found = this.sample && this.data ? this.painter.describe(this.data, this.sample) : null;
    if (found) {
      this.readout.replaceChildren(...found.parts.flatMap(([label, value]) =>
        [h("span", { class: "what" }, label), " ", h("b", {}, value), " "]));
      this.readout.dataset.exact = JSON.stringify(found.exact);
    } else {
      this.readout.textContent = this.reading ? "" : byFinger() ? BY_FINGER : BY_POINTER;
      delete this.readout.dataset.exact;
    }
    return found;
  }

  read(sample) {
    this.sample = sample;
    const found = this.mark();
    if (found) this.say(found.words);
  }

  setReading(on, focus = false) {
    if (on === this.reading) return;
    this.reading = on;
    this.reader.setAttribute("aria-pressed", String(on));
    this.surface.classList.toggle("reading", on);
    if (on && focus) this.surface.focus();
    if (on && this.data) this.read(this.sample ?? this.painter.nearest(this.data, [0.5, 0.5], this.windows));
    if (!on) this.read(null);
  }

  /** Shares of the drawing area, 0 to 1 rightwards and upwards. */
  shares(event) {
    const box = this.surface.getBoundingClientRect();
    const { left, top, width, height } = this.painter.area;
    const clip = (value) => Math.min(Math.max(value, 0), 1);
    return [
      clip((event.clientX - box.left - left) / width),
      clip(1 - (event.clientY - box.top - top) / height),
    ];
  }

  press(event) {
    if (event.button !== 0 || !this.painter.area) return;
    this.start = { at: this.shares(event), x: event.clientX, y: event.clientY };
    this.surface.setPointerCapture(event.pointerId);
  }

  move(event) {
    if (!this.painter.area || !this.data) return;
    const now = this.shares(event);
    const far = this.start && Math.hypot(event.clientX - this.start.x, event.clientY - this.start.y);
    if (this.start && (this.selection || far > SELECTED)) {
      this.selection = now.map((value, axis) => [value, this.start.at[axis]].sort((a, b) => a - b));
      this.sample = null;
    } else {
      this.sample = this.painter.nearest(this.data, now, this.windows);
    }
    const found = this.mark();
    if (found) this.say(found.words);
  }

  release(event) {
    const { selection } = this;
    const pressed = this.start;
    this.cancel();
    if (!pressed || !this.data) return;
    if (!selection) {
      this.read(this.painter.nearest(this.data, this.shares(event), this.windows));
      return;
    }
    const { width, height } = this.painter.area;
    const wide = selection.map(([from, to], axis) => (to - from) * [width, height][axis] > 2 * SELECTED);
    if (!wide.slice(0, this.windows.length).some(Boolean)) return;
    this.show(this.windows.map(([low, high], axis) => {
      const [from, to] = wide[axis] ? selection[axis] : [0, 1];
      return [low + from * (high - low), low + to * (high - low)];
    }));
  }

  cancel() {
    this.start = null;
    this.selection = null;
    this.mark();
  }

  /** Zoom about the pointer; a page that is being scrolled, or nothing to zoom, scrolls on. */
  wheel(event) {
    if (!this.painter.area || performance.now() - this.touched < 250) return;
    const before = this.windows;
    const size = event.deltaMode === 1 ? 20 : event.deltaMode === 2 ? 400 : 1;
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) this.pan([(event.deltaX * size) / 800]);
    else this.zoom(Math.exp((Math.max(-200, Math.min(200, event.deltaY * size))) / 400), this.shares(event));
    if (!same(before, this.windows)) event.preventDefault();
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const arrow = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowDown: [0, -1], ArrowUp: [0, 1] }[event.key];
    const leap = { PageUp: [10, 0], PageDown: [-10, 0], Home: [-1e9, 0], End: [1e9, 0] }[event.key];
    if (this.reading && this.data && (arrow || leap)) {
      const scale = event.shiftKey && arrow ? 10 : 1;
      const [across, up] = arrow ?? leap;
      const from = this.sample ?? this.painter.nearest(this.data, [0.5, 0.5], this.windows);
      this.read(this.painter.step(this.data, from, [across * scale, up * scale], this.windows));
    } else if (arrow && (arrow[0] !== 0 || this.windows.length > 1)) this.pan(arrow.map((way) => 0.2 * way));
    else if (event.key === "+" || event.key === "=") this.zoom(STEP);
    else if (event.key === "-" || event.key === "_") this.zoom(1 / STEP);
    else if (event.key === "0") this.show(this.bounds);
    else if (event.key === "r" || event.key === "R" || event.key === "Enter") this.setReading(!this.reading);
    else if (event.key === "Escape" && (this.reading || this.selection)) {
      this.cancel();
      this.setReading(false);
    } else return;
    event.preventDefault();
  }

  /** Let go of everything outside the picture itself. */
  stop() {
    this.stopping.abort();
    this.observer.disconnect();
    removeEventListener("scroll", this.scrolled);
  }
}
