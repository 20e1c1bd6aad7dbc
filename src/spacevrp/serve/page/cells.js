// A value in a field: how it is written, and how what was typed is read.

import { h } from "./dom.js";
import { strings } from "./strings.js";

class Unread extends Error {}

function number(text, column) {
  const value = Number(text);
  if (!Number.isFinite(value)) throw new Unread(strings.notNumber(column.title));
  return value;
}

const plain = (value) => (value === null || value === undefined ? "" : String(value));
const numeric = { inputmode: "decimal", numeric: true };

// empty: what a field without text means.
export const readers = {
  text: { write: plain, read: (text) => text.trim(), empty: "" },
  // Ids stay numbers where they were.
  id: {
    write: plain,
    read: (text, column, before) => (typeof before === "number" && /^-?\d+$/.test(text.trim()) ? Number(text) : text.trim()),
    empty: "",
  },
  number: { ...numeric, write: plain, read: number, empty: 0 },
  limit: { ...numeric, write: plain, read: number, empty: null },
  optional: { ...numeric, write: plain, read: number, empty: undefined },
  loads: {
    ...numeric,
    write: (value) => (Array.isArray(value) ? value.join(" ") : plain(value)),
    read: (text, column) => {
      const values = text.trim().split(/\s+/).map((one) => number(one, column));
      return values.length > 1 ? values : values[0];
    },
    empty: 0,
  },
  time: (clock) => ({
    numeric: true,
    // Several windows: openings and closings with blanks between them.
    write: (value) => [value].flat().map((one) => clock.write(one)).join(" "),
    read: (text, column) => {
      const values = text.trim().split(/\s+/).map((one) => moment(clock, one, column));
      return values.length > 1 ? values : values[0];
    },
    empty: null,
  }),
  shift: (clock, end) => ({
    numeric: true,
    get: (vehicle) => clock.write(vehicle.window?.[end]),
    set: (vehicle, text, column) => {
      const window = [...(vehicle.window ?? [null, null])];
      window[end] = text.trim() ? moment(clock, text, column) : null;
      if (window.every((one) => one === null)) delete vehicle.window;
      else vehicle.window = window;
    },
  }),
  node: (problem) => ({
    write: (key) => plain(nameOf(problem, key)),
    read: (text, column) => keyOf(problem, text, column),
    empty: undefined,
  }),
  nodes: (problem) => ({
    write: (keys) => (keys ?? []).map((key) => nameOf(problem, key)).filter((one) => one !== undefined).join(", "),
    read: (text, column) => text.split(",").map((one) => keyOf(problem, one, column)),
    empty: undefined,
  }),
};

function moment(clock, text, column) {
  const value = clock.read(text);
  if (!Number.isFinite(value)) throw new Unread((clock.isNumber ? strings.notNumber : strings.notTime)(column.title));
  return value;
}

const nameOf = (problem, key) => problem.stops.find((stop) => stop.key === key)?.id;

function keyOf(problem, text, column) {
  const found = problem.stops.find((stop) => String(stop.id) === text.trim());
  if (!found) throw new Unread(strings.notNode(column.title, text.trim()));
  return found.key;
}

export function cell(row, column, name, onEdit) {
  const label = name === null ? column.title : strings.cell(name, column.title);
  const shared = { "data-field": column.field, "data-column": column.name, "aria-label": name === null ? null : label };
  if (column.flag) {
    const box = h("input", { type: "checkbox", ...shared, onchange: () => { row[column.name] = box.checked; onEdit(); } });
    box.checked = Boolean(row[column.name]);
    return box;
  }
  const input = h("input", {
    type: "text", ...shared, inputmode: column.inputmode, class: column.wide ? "number wide" : column.numeric ? "number" : "word",
    autocomplete: "off", spellcheck: "false", onchange: () => take(),
  });
  input.value = column.get ? column.get(row) : column.write(row[column.name]);
  function take() {
    for (const name of ["aria-invalid", "aria-describedby", "data-unread", "title"]) input.removeAttribute(name);
    try {
      if (column.set) column.set(row, input.value, column);
      else if (input.value.trim()) row[column.name] = column.read(input.value, column, row[column.name]);
      else if (column.empty === undefined) delete row[column.name];
      else row[column.name] = column.empty;
      onEdit();
    } catch (error) {
      if (!(error instanceof Unread)) throw error;
      input.setAttribute("aria-invalid", "true");
      input.dataset.unread = input.title = error.message;
    }
  }
  return input;
}
