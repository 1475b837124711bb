// What leaves the page: files to keep, text to paste.

import { h } from "./dom.js";

/** Offer text as a file. */
export function save(name, text) {
  const url = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
  const link = h("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** Put text on the clipboard; true if it is there. */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyOldWay(text); // browsers keep the clipboard from pages without https
  }
}

function copyOldWay(text) {
  const before = document.activeElement;
  const box = h("textarea", { class: "unseen", "aria-hidden": "true", readonly: true });
  box.value = text;
  document.body.append(box);
  box.select();
  try {
    return document.execCommand("copy");
  } catch {
    return false;
  } finally {
    box.remove();
    before?.focus();
  }
}
