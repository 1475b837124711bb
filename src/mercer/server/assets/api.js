// The service's answers.  Addresses are relative, so that the page works below any path.

/** What the service refused, in its own words; status 0 where nobody answered. */
export class ServiceError extends Error {
  constructor(status, code, message) {
    super(message);
    Object.assign(this, { status, code });
  }

  /** Whether it may well work a little later. */
  get passing() {
    return this.status === 0 || this.status >= 500 || this.status === 429;
  }

  /** Whether the release itself is not there, or no longer. */
  get gone() {
    return this.status === 404 || this.status === 410;
  }
}

const AWAY = "The service does not answer. It may have been stopped, or the network is down.";

// what a reader of the page can do nothing about by an address of the service
const WORDS = {
  no_release: "There is no release of this name here.",
  not_found: "There is no release of this name here.",
  retired: "This release was withdrawn by its owner.",
};

async function ask(path, options = {}) {
  let answer;
  try {
    answer = await fetch(path, { ...options, credentials: "omit", redirect: "error" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ServiceError(0, "away", AWAY);
  }
  let body = null;
  try {
    body = await answer.json();
  } catch (error) {
    if (error.name === "AbortError") throw error;
  }
  if (answer.ok && body !== null) return body;
  const { code = "unknown", message = null } = body?.error ?? {};
  throw new ServiceError(
    answer.ok ? 0 : answer.status,
    code,
    WORDS[code] ?? message ?? (answer.status === 502 || answer.status === 504 || answer.ok
      ? AWAY
      : `The service answered with status ${answer.status} and no words.`),
  );
}

const at = (name, rest = "") => `api/releases/${encodeURIComponent(name)}${rest}`;

function query(values) {
  const known = Object.entries(values).filter(([, value]) => value !== null && value !== undefined);
  return known.length ? `?${new URLSearchParams(known)}` : "";
}

export const health = () => ask("health");
export const releases = async (signal) => (await ask("api/releases", { signal })).releases;
export const release = (name, signal) => ask(at(name), { signal });
export const releaseAt = (name, bandwidth, signal) => ask(at(name, query({ bandwidth: bandwidth.join(",") })), { signal });
export const dataset = (name, signal) => ask(`api/datasets/${encodeURIComponent(name)}`, { signal });
export const curve = (name, values, signal) => ask(at(name, `/curve${query(values)}`), { signal });
export const map = (name, values, signal) => ask(at(name, `/map${query(values)}`), { signal });

export const values = (name, body, signal) =>
  ask(at(name, "/values"), {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
    signal,
  });

export const addresses = (name) => ({ file: at(name, "/file"), statement: at(name, "/statement") });

/**
 * A question that is asked again and again while somebody drags a slider: a new one cancels the
 * last, and only the newest answer counts.
 */
export function latest(question) {
  let controller = new AbortController();
  const run = async (...values) => {
    controller.abort();
    controller = new AbortController();
    const { signal } = controller;
    try {
      const answer = await question(...values, signal);
      return signal.aborted ? null : answer;
    } catch (error) {
      if (error.name === "AbortError" || signal.aborted) return null;
      throw error;
    }
  };
  run.stop = () => controller.abort();
  return run;
}
