// Numbers for people: digits, ticks, lists, CSV.

/** So many significant digits, without idle zeros. */
export function short(value, digits = 4) {
  if (!Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  const text = value.toPrecision(digits);
  if (size >= 1e-4 && size < 1e7) return group(String(Number(text)));
  return Number(text).toExponential().replace("e+", "e");
}

/** 1234567 as 1,234,567; decimals stay as they are. */
export function group(text) {
  const [whole, ...rest] = text.split(".");
  return [whole.replace(/\B(?=(\d{3})+$)/g, ","), ...rest].join(".");
}

/** Words of the service with small and large numbers as `short` writes them: 1e-6, not 1e-06. */
export function plain(words) {
  return words.replace(/(\d)e(?:\+|(-))0*(\d)/g, (_, before, minus = "", digit) => `${before}e${minus}${digit}`);
}

/** A place on an axis, with the digits that tell points of this window apart; ends need fewer. */
export function place(value, width, end = false) {
  const decimals = Math.min(12, Math.max(0, Math.ceil(-Math.log10(width / (end ? 500 : 4000)))));
  if (Math.abs(value) >= 1e9 || decimals > 7) {
    return short(value, Math.min(15, Math.max(6, Math.ceil(Math.log10((40_000 * Math.abs(value)) / width)))));
  }
  const text = value.toFixed(decimals).replace(/^-(0(\.0*)?)$/, "$1");
  return group(end ? String(Number(text)) : text);
}

/** Round places in [low, high], about `count` of them, with their texts. */
export function ticks(low, high, count) {
  const rough = (high - low) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((m) => m * power >= rough * 0.999);
  const out = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k += 1) {
    out.push(k * step);
  }
  const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const largest = Math.max(Math.abs(low), Math.abs(high));
  const plain = largest < 1e7 && decimals <= 6;
  return out.map((value) => ({
    value,
    text: plain ? tidy(value.toFixed(decimals)) : scientific(value, step),
  }));
}

const tidy = (text) => (Number(text) === 0 ? "0" : group(text));

/** Ticks about zero; very small or large ones in a unit, which belongs in the label. */
export function levels(low, high, count) {
  const power = Math.floor(Math.log10(Math.max(-low, high)) + 1e-9);
  if (power > -4 && power < 6) return { places: ticks(low, high, count), unit: "" };
  const places = ticks(low / 10 ** power, high / 10 ** power, count);
  return {
    places: places.map(({ value, text }) => ({ value: value * 10 ** power, text })),
    unit: `, in 1e${power}`,
  };
}

function scientific(value, step) {
  if (Math.abs(value) < step / 2) return "0";
  const digits = Math.floor(Math.log10(Math.abs(value))) - Math.floor(Math.log10(step) + 1e-9);
  return value.toExponential(Math.min(12, Math.max(0, digits))).replace("e+", "e");
}

/** "1 point", "2 points", "1,234 points". */
export function count(number, noun) {
  return `${group(String(number))} ${noun}${number === 1 ? "" : "s"}`;
}

/** "age", "age and weight", "age, weight and height". */
export function listed(words) {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
}

/** "Density of age", "Live density of age". */
export function heading({ live, title }) {
  return live ? `Live ${title}` : title.charAt(0).toUpperCase() + title.slice(1);
}

/** "2.1 of age and 3 of weight". */
export function widths(columns, bandwidth) {
  return listed(columns.map((column, k) => `${short(bandwidth[k], 3)} of ${column}`));
}

/** "age from 0 to 100, weight from 30 to 130". */
export function ranges(columns, bounds) {
  return columns.map((column, k) => `${column} from ${bounds[k].map((end) => short(end, 6)).join(" to ")}`).join(", ");
}

/** Rows as CSV, every number with all its digits. */
export function csv(headings, rows) {
  const cell = (value) => {
    const text = String(value ?? "");
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [headings, ...rows].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}

/**
 * Points in what was typed: numbers apart by spaces, commas, lines or semicolons.
 * With several columns a point is a line (or ends with a semicolon).
 */
export function points(text, columns) {
  const lines = columns.length === 1 ? [text.replaceAll(";", " ")] : text.split(/[\n;]+/);
  const rows = [];
  for (const line of lines) {
    const row = line.split(/[\s,]+/).filter(Boolean).map(number);
    if (columns.length === 1) return row;
    if (row.length === 0) continue;
    if (row.length !== columns.length) {
      throw new Error(
        `A point needs ${columns.length} numbers (${columns.join(", ")}), but “${line.trim().slice(0, 40)}” ` +
          `has ${row.length}. Write one point a line, or a semicolon after each.`,
      );
    }
    rows.push(row);
  }
  return rows;
}

/** What was understood where a comma may have been meant for a decimal point; else nothing. */
export function doubt(text, columns) {
  const found = /\d+,\d+/.exec(text);
  if (columns.length > 1 || !found) return "";
  try {
    const row = points(text, columns).map(String);
    return `Read as ${count(row.length, "point")}: ${some(row)}. Decimals are written with a point: ` +
      `${found[0].replace(",", ".")}.`;
  } catch {
    return "";
  }
}

/** "1, 2 and 3"; of many, the first few and how many more there are. */
export function some(words, most = 5) {
  return words.length <= most ? listed(words)
    : `${words.slice(0, most - 1).join(", ")} and ${group(String(words.length - most + 1))} more`;
}

function number(word) {
  const value = Number(word.replace("−", "-"));
  if (Number.isFinite(value)) return value;
  throw new Error(
    `“${word.slice(0, 40)}” is not a number. Write numbers such as 20 or 37.5, apart by spaces, ` +
      "commas or lines.",
  );
}
