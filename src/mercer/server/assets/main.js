// The page: what the address names is shown.  #/ is the list, #/ages a release,
// #/ages?bandwidth=3 the same with another smoothing.

import * as api from "./api.js";
import { h } from "./dom.js";
import { heading, ranges } from "./numbers.js";
import { promise, releasePage } from "./release.js";

const main = document.getElementById("main");
const notice = document.getElementById("notice");
let shown = { stop() {}, controller: new AbortController() };
let first = true;

function address() {
  const [path, search = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const numbers = new URLSearchParams(search).get("bandwidth")?.split(",").map(Number);
  return {
    name: decode(path),
    bandwidth: numbers?.every((value) => Number.isFinite(value) && value > 0) ? numbers : null,
  };
}

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function remember(name) {
  return (bandwidth) => {
    const search = bandwidth ? `?bandwidth=${bandwidth.map((value) => Number(value.toPrecision(6))).join(",")}` : "";
    history.replaceState(null, "", `#/${encodeURIComponent(name)}${search}`);
  };
}

/** Say beside the page that something failed; what is there stays. */
function failed(error, again) {
  const retry = () => {
    notice.hidden = true;
    again();
  };
  notice.replaceChildren(
    h("p", { role: "alert" }, error.message),
    error.gone
      ? h("a", { href: "#/" }, "All releases")
      : h("button", { type: "button", onclick: retry }, "Try again"));
  notice.hidden = false;
}

/** Say instead of the page that there is nothing to show. */
function failedPage(error, name) {
  return h("article", {},
    h("h1", { tabindex: "-1" }, error.passing ? "The service is away" : error.status === 410 ? "Withdrawn" : "Not here"),
    name && error.gone ? h("p", { class: "quiet facts" }, h("code", {}, name)) : null,
    h("p", { role: "alert" }, error.message),
    h("p", { class: "row" },
      error.passing ? h("button", { type: "button", class: "main", onclick: route }, "Try again") : null,
      h("a", { href: "#/" }, "All releases")));
}

async function listPage(signal) {
  const releases = await api.releases(signal);
  const card = (release) => h("li", { class: release.private ? "card" : "card broken" },
    h("h2", {}, h("a", { href: `#/${encodeURIComponent(release.name)}` }, release.name)),
    h("p", {}, heading(release), h("br"),
      h("span", { class: "quiet small" }, ranges(release.columns, release.bounds))),
    promise(release));
  return {
    title: "Mercer",
    element: h("article", {},
      h("h1", { tabindex: "-1" }, "Releases"),
      releases.length
        ? h("p", {}, "Each of these is a function that anybody may look at, evaluate and keep. What it promises to the people in the data is written beside it.")
        : h("p", {}, "There is no release here yet. Put release files into the folder that is served, and load this page again."),
      h("ul", { class: "cards", "aria-label": "Releases" }, releases.map(card))),
    stop() {},
  };
}

async function route() {
  const { name, bandwidth } = address();
  shown.controller.abort();
  shown.stop();
  const controller = new AbortController();
  const { signal } = controller;
  shown = { stop() {}, controller };
  notice.hidden = true;
  main.setAttribute("aria-busy", "true");
  let page;
  try {
    page = name ? await detailsPage(name, bandwidth, signal) : await listPage(signal);
  } catch (error) {
    if (signal.aborted) return;
    page = { title: "Mercer", element: failedPage(error, name), stop() {} };
  }
  if (signal.aborted) return page.stop();
  shown.stop = page.stop;
  main.replaceChildren(page.element);
  main.removeAttribute("aria-busy");
  document.title = page.title;
  if (!first) {
    scrollTo(0, 0);
    page.element.querySelector("h1").focus({ preventScroll: true });
  }
  first = false;
}

async function detailsPage(name, bandwidth, signal) {
  const details = await api.release(name, signal);
  const page = releasePage(details, bandwidth, { remember: remember(name), failed, signal });
  return { ...page, title: `${name}: ${details.live ? "live " : ""}${details.title} – Mercer` };
}

async function version() {
  try {
    const { version: number } = await api.health();
    document.getElementById("version").textContent = ` · Mercer ${number}`;
  } catch {
    // the footer does without
  }
}

addEventListener("hashchange", route);
document.getElementById("skip").addEventListener("click", (event) => {
  event.preventDefault(); // the address names a release, not a place in the page
  main.focus();
});
route();
version();
