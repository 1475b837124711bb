// Paints a curve with its band, as SVG.

import { newId, s } from "./dom.js";
import { levels, place, short, ticks } from "./numbers.js";

export function curvePainter(column) {
  const clip = newId("clip");
  const back = s("g");
  const front = s("g", { "clip-path": `url(#${clip})` });
  const frame = s("rect");
  const svg = s("svg", { "aria-hidden": "true", focusable: "false" },
    s("defs", {}, s("clipPath", { id: clip }, frame)), back, front);
  const painter = {
    kind: "curve",
    elements: [svg],
    area: null,
    scale: null,

    paint({ surface, data, windows }) {
      const [[low, high]] = windows;
      const width = surface.clientWidth;
      const height = Math.round(Math.min(Math.max(width * 0.5, 250), 400));
      const seen = data ? shown(data, low, high) : [];
      const [bottom, top] = heights(data, seen);
      const { places: upwards, unit } = levels(bottom, top, height / 45);
      const left = 14 + 7.2 * Math.max(...upwards.map((tick) => tick.text.length));
      const area = { left, top: 30, width: Math.max(width - left - 14, 40), height: height - 30 - 48 };
      const x = (value) => area.left + ((value - low) / (high - low)) * area.width;
      const y = (value) => area.top + area.height * (1 - (value - bottom) / (top - bottom));
      Object.assign(painter, { area, scale: { x, y } });
      size(svg, width, height);
      size(frame, area.width, area.height, area.left, area.top);
      back.replaceChildren(
        ground(area),
        ...upwards.map((tick) => s("g", {},
          s("line", { class: "grid", x1: area.left, x2: area.left + area.width, y1: y(tick.value), y2: y(tick.value) }),
          s("text", { class: "tick", x: area.left - 7, y: y(tick.value) + 4, "text-anchor": "end" }, tick.text))),
        ...across(ticks(low, high, area.width / 70), x, area, column),
        ...(bottom < 0 ? [s("line", { class: "zero", x1: area.left, x2: area.left + area.width, y1: y(0), y2: y(0) })] : []),
        s("text", { class: "label", x: 4, y: 16 }, 
          fitting([`density per unit of ${column}${unit}`, `density${unit}`], width - 8)),
        ...(seen.length ? curves(data, x, y, clip) : []),
      );
    },

    mark({ sample, data, selection }) {
      if (!painter.area) return;
      const { area, scale: { x, y } } = painter;
      const parts = [];
      if (selection) {
        const [[from, to]] = selection;
        parts.push(s("rect", {
          class: "selection", x: area.left + from * area.width, y: area.top,
          width: (to - from) * area.width, height: area.height,
        }));
      }
      if (sample && data) {
        const at = x(data.x[sample.i]);
        const ends = data.lower ? [data.lower[sample.i], data.upper[sample.i]] : [];
        parts.push(
          s("line", { class: "cross", x1: at, x2: at, y1: area.top, y2: area.top + area.height }),
          ...ends.map((end) => s("line", { class: "end", x1: at - 7, x2: at + 7, y1: y(end), y2: y(end) })),
          s("circle", { class: "dot", cx: at, cy: y(data.values[sample.i]), r: 5 }),
        );
      }
      front.replaceChildren(...parts);
    },

    nearest(data, [share], [[low, high]]) {
      const wanted = low + share * (high - low);
      const seen = shown(data, low, high);
      const best = (one, other) => (Math.abs(data.x[other] - wanted) < Math.abs(data.x[one] - wanted) ? other : one);
      return seen.length ? found(data, seen.reduce(best)) : null;
    },

    step(data, sample, [steps], [[low, high]]) {
      const seen = shown(data, low, high);
      if (!seen.length) return null;
      return found(data, Math.min(Math.max(sample.i + steps, seen[0]), seen.at(-1)));
    },

    /** The same place in newer data. */
    again(data, sample, windows) {
      const [[low, high]] = windows;
      return painter.nearest(data, [(sample.x - low) / (high - low)], windows);
    },

    visible: (sample, [[low, high]]) => sample.x >= low && sample.x <= high,

    describe(data, { i }) {
      const width = data.x.at(-1) - data.x[0];
      const [at, value] = [place(data.x[i], width), short(data.values[i])];
      const band = data.lower ? `${short(data.lower[i])} to ${short(data.upper[i])}` : null;
      return {
        parts: [[column, at], ["density", value], ...(band ? [["band", band]] : [])],
        words: `${column} ${at}: density ${value}${band ? `, band ${band}` : ""}`,
        exact: { x: data.x[i], value: data.values[i], lower: data.lower?.[i], upper: data.upper?.[i] },
      };
    },
  };
  return painter;
}

/** The first of the texts that fits so many pixels; the last is cut if none does. */
export function fitting(texts, width) {
  const most = Math.max(8, Math.floor(width / 7.4)); // of 13 pixels' height, in a wide face
  const last = texts.at(-1);
  return texts.find((text) => text.length <= most) ?? `${last.slice(0, most - 1)}…`;
}

/** The drawing area itself, without a colour: what a pointer is measured by. */
export function ground({ left, top, width, height }) {
  return s("rect", { "data-part": "area", fill: "none", x: left, y: top, width, height });
}

/** Ticks and the name of the axis below a drawing area. */
export function across(places, x, area, name) {
  const floor = area.top + area.height;
  return [
    s("line", { class: "axis", x1: area.left, x2: area.left + area.width, y1: floor, y2: floor }),
    ...places.map((tick) => s("g", {},
      s("line", { class: "axis", x1: x(tick.value), x2: x(tick.value), y1: floor, y2: floor + 5 }),
      s("text", { class: "tick", x: x(tick.value), y: floor + 19, "text-anchor": "middle" }, tick.text))),
    s("text", { class: "label", x: area.left + area.width / 2, y: floor + 39, "text-anchor": "middle" },
      fitting([name], area.width)),
  ];
}

export function size(node, width, height, x = null, y = null) {
  for (const [name, value] of Object.entries({ width, height, x, y })) {
    if (value !== null) node.setAttribute(name, String(value));
  }
}

const found = (data, i) => ({ i, x: data.x[i] });

function shown(data, low, high) {
  const slack = 1e-9 * (high - low);
  return [...data.x.keys()].filter((i) => data.x[i] >= low - slack && data.x[i] <= high + slack);
}

/** From zero, or below it where answers are (live ones may be), to a little above the band. */
function heights(data, seen) {
  const all = seen.flatMap((i) => [data.values[i], data.lower?.[i] ?? 0, data.upper?.[i] ?? 0]);
  const [least, most] = [Math.min(0, ...all), Math.max(0, ...all)];
  const spare = 0.06 * (most - least);
  return most > least ? [least < 0 ? least - spare : 0, most + spare] : [0, 1];
}

function curves(data, x, y, clip) {
  const line = (values) => values.map((value, i) => `${x(data.x[i]).toFixed(1)} ${y(value).toFixed(1)}`);
  const open = (values) => `M${line(values).join("L")}`;
  const band = data.lower
    ? [
        s("path", { class: "band", d: `M${[...line(data.upper), ...line(data.lower).reverse()].join("L")}Z` }),
        s("path", { class: "edge", d: open(data.upper) }),
        s("path", { class: "edge", d: open(data.lower) }),
      ]
    : [];
  return [s("g", { "clip-path": `url(#${clip})` }, ...band, s("path", { class: "curve", d: open(data.values) }))];
}
