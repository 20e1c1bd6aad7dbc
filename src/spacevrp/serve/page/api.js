// The server's HTTP interface. What it refuses is a Fault with the field at fault.

import { strings } from "./strings.js";

const KEY = "spacevrp-token";
const WAIT = 1_000; // milliseconds before a stream that broke off is opened again

export class Fault extends Error {
  constructor(status, document) {
    super(document.detail ?? document.title ?? String(status));
    Object.assign(this, { status, field: document.field, node: document.node });
  }
}

export const token = {
  get: () => sessionStorage.getItem(KEY) ?? "",
  set: (value) => sessionStorage.setItem(KEY, value),
};

async function send(method, path, { body, type, headers, signal } = {}) {
  const said = { ...headers };
  if (type) said["Content-Type"] = type;
  if (token.get()) said.Authorization = `Bearer ${token.get()}`;
  let answer;
  try {
    answer = await fetch(path, { method, body, headers: said, signal, cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Fault(0, { detail: strings.offline });
  }
  if (!answer.ok) {
    throw new Fault(answer.status, await answer.json().catch(() => ({ title: answer.statusText })));
  }
  return answer;
}

const JSON_TYPE = "application/json";
const post = async (path, document) =>
  (await send("POST", path, { body: JSON.stringify(document), type: JSON_TYPE })).json();

export const api = {
  about: async () => (await send("GET", "page.json")).json(),
  jobs: async () => (await send("GET", "v1/jobs")).json(),
  asset: async (path) => (await send("GET", path)).text(),
  validate: async (text, type) =>
    (await send("POST", "v1/validate", { body: text, type })).json(),
  solve: (request) => post("v1/jobs", request),
  job: async (id) => (await send("GET", `v1/jobs/${id}`)).json(),
  stop: async (id) => (await send("DELETE", `v1/jobs/${id}`)).json(),
  plan: async (id, format) => (await send("GET", `v1/jobs/${id}/plan?format=${format}`)).blob(),
};

// What a text is: JSON, a table, or one of the formats that the server tells apart by itself.
export function typeOf(text, name = "") {
  const begin = text.trimStart().slice(0, 4_000);
  if (begin.startsWith("{") || begin.startsWith("[")) return JSON_TYPE;
  const line = begin.split("\n", 1)[0];
  if (/\.csv$/i.test(name) || (/[,;\t]/.test(line) && !/:/.test(line))) return "text/csv";
  if (/^\s*(NAME|TYPE|COMMENT|DIMENSION)\b.*:/im.test(begin)) return "text/x-vrplib";
  return "text/plain";
}

// Events of a job until it ends, over a stream that may break off: EventSource sends no token.
// Whether it is broken off is told when that changes.
export async function* events(id, signal, onBreak) {
  let last = 0;
  let broken = false;
  for (;;) {
    try {
      const answer = await send("GET", `v1/jobs/${id}/events`, {
        headers: { "Last-Event-ID": String(last) },
        signal,
      });
      if (broken) onBreak?.(broken = false);
      for await (const event of parse(answer.body)) {
        last = event.number;
        yield event;
        if (["done", "stopped", "failed"].includes(event.event)) return;
      }
    } catch (error) {
      if (signal.aborted || (error instanceof Fault && error.status)) throw error;
    }
    if (!broken) onBreak?.(broken = true);
    await new Promise((resolve) => setTimeout(resolve, WAIT));
  }
}

async function* parse(stream) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let held = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      held += value;
      const parts = held.split("\n\n");
      held = parts.pop();
      for (const part of parts) {
        const data = part.split("\n").filter((line) => line.startsWith("data: "));
        if (data.length) yield JSON.parse(data.map((line) => line.slice(6)).join("\n"));
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
