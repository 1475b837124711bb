// Paints a function of two columns as a map in shades that keep their order in grey.

import { h, newId, s } from "./dom.js";
import { across, fitting, ground, size } from "./curve.js";
import { levels, place, short, ticks } from "./numbers.js";

// from dark to light: the lightness grows evenly, the hue goes from blue over grey to straw
const SHADES = [
  [8, 28, 66], [22, 56, 104], [52, 82, 122], [88, 108, 130], [122, 134, 136],
  [158, 160, 134], [196, 188, 124], [230, 217, 120], [255, 246, 170],
];
const LEGEND = 260; // widest, in pixels

export function mapPainter([across_, up]) {
  const gradient = newId("shades");
  const canvas = h("canvas", { "aria-hidden": "true" });
  const back = s("g");
  const front = s("g");
  const stops = SHADES.map((shade, i) =>
    s("stop", { offset: i / (SHADES.length - 1), "stop-color": `rgb(${shade.join(" ")})` }));
  const svg = s("svg", { "aria-hidden": "true", focusable: "false" },
    s("defs", {}, s("linearGradient", { id: gradient }, stops)), back, front);
  const painter = {
    kind: "map",
    elements: [canvas, svg],
    area: null,

    paint({ surface, data, windows }) {
      const [[left0, right0], [low, high]] = windows;
      const width = surface.clientWidth;
      const height = Math.round(Math.min(Math.max(width * 0.72, 330), 560));
      const upwards = ticks(low, high, height / 60);
      const left = 14 + 7.2 * Math.max(...upwards.map((tick) => tick.text.length));
      const area = { left, top: 30, width: Math.max(width - left - 14, 40), height: height - 30 - 106 };
      const x = (value) => area.left + ((value - left0) / (right0 - left0)) * area.width;
      const y = (value) => area.top + area.height * (1 - (value - low) / (high - low));
      Object.assign(painter, { area, scale: { x, y } });
      size(svg, width, height);
      const most = data ? largest(data.values) : 0;
      back.replaceChildren(
        ground(area),
        ...upwards.map((tick) => s("g", {},
          s("line", { class: "axis", x1: area.left - 5, x2: area.left, y1: y(tick.value), y2: y(tick.value) }),
          s("text", { class: "tick", x: area.left - 8, y: y(tick.value) + 4, "text-anchor": "end" }, tick.text))),
        ...across(ticks(left0, right0, area.width / 70), x, area, across_),
        s("text", { class: "label", x: 4, y: 16 }, fitting([up], width - 8)),
        ...(most > 0 ? legend(area, most, gradient, [across_, up]) : []),
      );
      if (data) shade(canvas, data, most, area, x, y);
    },

    mark({ sample, data, selection }) {
      if (!painter.area) return;
      const { area, scale: { x, y } } = painter;
      const parts = [];
      if (selection) {
        const [[from, to], [bottom, top]] = selection;
        parts.push(s("rect", {
          class: "selection", x: area.left + from * area.width, y: area.top + (1 - top) * area.height,
          width: (to - from) * area.width, height: (top - bottom) * area.height,
        }));
      }
      if (sample && data) {
        const [cx, cy] = [x(data.x[sample.i]), y(data.y[sample.j])];
        const lines = [
          { x1: cx, x2: cx, y1: area.top, y2: area.top + area.height },
          { x1: area.left, x2: area.left + area.width, y1: cy, y2: cy },
        ];
        for (const part of ["under", "over"]) {
          parts.push(...lines.map((ends) => s("line", { class: `cross ${part}`, ...ends })),
            s("circle", { class: `ring ${part}`, cx, cy, r: 6 }));
        }
      }
      front.replaceChildren(...parts);
    },

    nearest(data, shares, windows) {
      const [i, j] = [data.x, data.y].map((axis, k) => {
        const [low, high] = windows[k];
        return closest(axis, low + shares[k] * (high - low), windows[k]);
      });
      return found(data, i, j);
    },

    step(data, sample, [right, above], windows) {
      const [i, j] = [[data.x, sample.i + right], [data.y, sample.j + above]].map(([axis, wanted], k) => {
        const kept = Math.min(Math.max(wanted, 0), axis.length - 1);
        return closest(axis, axis[kept], windows[k]);
      });
      return found(data, i, j);
    },

    again: (data, sample, windows) =>
      found(data, closest(data.x, sample.x, windows[0]), closest(data.y, sample.y, windows[1])),

    visible: (sample, [[left, right], [low, high]]) =>
      sample.x >= left && sample.x <= right && sample.y >= low && sample.y <= high,

    describe(data, { i, j }) {
      const at = [place(data.x[i], data.x.at(-1) - data.x[0]), place(data.y[j], data.y.at(-1) - data.y[0])];
      const value = short(data.values[i][j]);
      const error = data.standard_error?.[i]?.[j] ?? data.standard_error;
      const noise = Number.isFinite(error) ? short(error, 2) : null;
      return {
        parts: [[across_, at[0]], [up, at[1]], ["density", value], ...(noise ? [["noise ± at most", noise]] : [])],
        words: `${across_} ${at[0]}, ${up} ${at[1]}: density ${value}` +
          (noise ? `, standard error of the noise at most ${noise}` : ""),
        exact: { x: data.x[i], y: data.y[j], value: data.values[i][j] },
      };
    },
  };
  return painter;
}

const found = (data, i, j) => ({ i, j, x: data.x[i], y: data.y[j] });

const largest = (rows) => rows.reduce((most, row) => Math.max(most, ...row), 0);

function closest(axis, wanted, [low, high]) {
  const kept = Math.min(Math.max(wanted, low), high);
  let best = 0;
  axis.forEach((value, i) => {
    if (Math.abs(value - kept) < Math.abs(axis[best] - kept)) best = i;
  });
  return best;
}

function colour(share) {
  const at = Math.min(Math.max(share, 0), 1) * (SHADES.length - 1);
  const i = Math.min(Math.floor(at), SHADES.length - 2);
  return SHADES[i].map((from, k) => from + (at - i) * (SHADES[i + 1][k] - from));
}

/** One pixel a point, then stretched so that its middle lies at the point. */
function shade(canvas, data, most, area, x, y) {
  const [across_, up] = [data.x.length, data.y.length];
  const small = new OffscreenCanvas(across_, up);
  const pen = small.getContext("2d");
  const image = pen.createImageData(across_, up);
  for (let i = 0; i < across_; i += 1) {
    for (let j = 0; j < up; j += 1) {
      const share = most > 0 ? data.values[i][j] / most : 0;
      image.data.set([...colour(share), 255], 4 * ((up - 1 - j) * across_ + i));
    }
  }
  pen.putImageData(image, 0, 0);
  const sharp = devicePixelRatio || 1;
  size(canvas, Math.round(area.width * sharp), Math.round(area.height * sharp));
  Object.entries({ left: area.left, top: area.top, width: area.width, height: area.height })
    .forEach(([name, value]) => canvas.style.setProperty(name, `${value}px`));
  const brush = canvas.getContext("2d");
  brush.imageSmoothingQuality = "high";
  brush.scale(sharp, sharp);
  const [half, rise] = [(data.x[1] - data.x[0]) / 2, (data.y[1] - data.y[0]) / 2];
  const [left, right] = [x(data.x[0] - half), x(data.x.at(-1) + half)];
  const [bottom, top] = [y(data.y[0] - rise), y(data.y.at(-1) + rise)];
  brush.drawImage(small, left - area.left, top - area.top, right - left, bottom - top);
}

function legend(area, most, gradient, columns) {
  const width = Math.min(LEGEND, area.width);
  const top = area.top + area.height + 70;
  const at = (value) => area.left + (value / most) * width;
  const { places, unit } = levels(0, most, width / 48);
  return [
    s("text", { class: "tick", x: area.left, y: top - 7 }, 
      fitting([`density per unit of ${columns.join(" and ")}${unit}`, `density${unit}`], area.width)),
    s("rect", { class: "frame", x: area.left, y: top, width, height: 12, fill: `url(#${gradient})` }),
    ...places.map((tick) =>
      s("text", { class: "tick", x: at(tick.value), y: top + 27, "text-anchor": tick.value === 0 ? "start" : "middle" }, tick.text)),
  ];
}
