// What was charged against a dataset, and what is left.

import { h, s, section, table } from "./dom.js";
import { count, plain, short } from "./numbers.js";

export function ledgerSection(ledger) {
  const { name, charges, left } = ledger;
  return section("Privacy budget",
    h("p", {}, `Charged to the dataset “${name}”. `, plain(ledger.words.replace(`${name}: t`, "T"))),
    bar(left.share_used),
    charges.length
      ? table(`${count(charges.length, "charge")} so far; total epsilon ${short(ledger.epsilon)}, delta ${short(ledger.delta)}`,
          ["time", "what", "epsilon", "delta"],
          charges.map((charge) => [when(charge.time), charge.what, short(charge.epsilon), short(charge.delta)]))
      : h("p", {}, "Nothing was charged so far."));
}

function bar(share) {
  const used = Math.round(100 * share);
  const text = `${used} % of the budget is used, ${100 - used} % is left.`;
  return h("div", { class: "budget", "data-part": "budget" },
    s("svg", { class: "bar", role: "img", "aria-label": text, viewBox: "0 0 100 6", preserveAspectRatio: "none" },
      s("rect", { class: "left", width: 100, height: 6 }),
      s("rect", { class: "used", width: 100 * share, height: 6 })),
    h("p", { class: "quiet small" }, text));
}

function when(time) {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return String(time);
  return h("time", { datetime: time }, date.toISOString().slice(0, 16).replace("T", " ") + " UTC");
}
