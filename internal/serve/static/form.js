// The form of one operation, built from what the specification says of its inputs.
import { el } from "./dom.js";

const local = (iso) => iso.slice(0, 19);
const utc = (text) => (text.length === 16 ? text + ":00" : text) + "Z";
export const later = (iso, seconds) => new Date(Date.parse(iso) + seconds * 1000).toISOString().replace(".000Z", "Z");
export const localTime = local, utcTime = utc;

/** control makes the control of an input; read() is what it holds, as the server takes it. */
function control(input, id, now) {
  const described = input.doc ? id + "-doc" : undefined;
  const common = { id, "aria-describedby": described };
  switch (input.kind) {
    case "enum": {
      const c = el("select", common, (input.words || []).map((w) => el("option", { value: w }, w)));
      return { c, read: () => c.value };
    }
    case "bool": {
      const c = el("select", common, el("option", { value: "false" }, "false"), el("option", { value: "true" }, "true"));
      return { c, read: () => c.value };
    }
    case "int": case "counter": case "sequence": {
      const c = el("input", { ...common, type: "number", step: "1", min: input.min, max: input.max, value: String(Math.min(Math.max(3, input.min ?? 3), input.max ?? 3)) }); // a few
      return { c, read: () => c.value };
    }
    case "time": {
      const c = el("input", { ...common, type: "datetime-local", step: "1", value: local(input.deadline ? later(now, 60) : now) });
      return { c, read: () => (c.value ? utc(c.value) : null) };
    }
    case "duration": {
      const c = el("input", { ...common, type: "text", value: input.value, autocomplete: "off", spellcheck: "false" });
      return { c, read: () => c.value };
    }
    case "set": {
      const c = el("textarea", { ...common, rows: "2", value: "a\nb" });
      return { c, read: () => c.value.split("\n").map((l) => l.trim()).filter(Boolean) };
    }
    case "json": {
      const c = el("textarea", { ...common, rows: "2", spellcheck: "false", value: "{}" });
      return { c, read: () => c.value };
    }
  }
  let value = input.name + "-1"; // of a length that the field takes
  if (input.min) value = value.padEnd(input.min, "x");
  if (input.max) value = value.slice(0, input.max);
  const c = el("input", { ...common, type: "text", value, autocomplete: "off", spellcheck: "false" });
  return { c, read: () => c.value };
}

const hints = { time: "UTC", set: "one member a line", json: "JSON" };

function row(label, id, c, { note, doc, send } = {}) {
  return el("div", { class: "field" },
    el("label", { for: id }, label, note && el("span", { class: "muted" }, " " + note)),
    send && el("label", { class: "send" }, send, " send"),
    c, doc && el("p", { class: "muted about", id: id + "-doc" }, doc));
}

/**
 * form makes the form of an operation. given: the record (or null), its revision,
 * the clock, the next record id and request id, the last actor. run(step) is called with the step.
 */
export function form(o, machine, given, run, cancel) {
  const text = (name, value) => el("input", { type: "text", id: "f-" + name, value, autocomplete: "off", spellcheck: "false" });
  const rows = [], reads = [];
  let actor, reason, request, record, rev, pick;
  if (o.by !== "system") {
    actor = text("actor", o.by === "operator" ? "operator" : given.actor);
    rows.push(row("Actor", "f-actor", actor, { note: o.actor || o.by === "operator" ? "checked by a guard" : "who calls" }));
  }
  if (o.by === "operator") {
    reason = text("reason", "by hand");
    rows.push(row("Reason", "f-reason", reason));
  }
  if (o.picks) {
    pick = el("select", { id: "f-pick" }, el("option", { value: "" }, "picked by the store"),
      given.record && el("option", { value: given.record }, given.record));
    rows.push(row("Record", "f-pick", pick));
  }
  for (const input of o.inputs) {
    const id = "f-in-" + input.name;
    const { c, read } = control(input, id, given.now);
    let send;
    if (input.optional) {
      send = el("input", { type: "checkbox", id: "f-send-" + input.name, checked: !!input.deadline, "aria-label": `send ${input.name}` });
      const sync = () => { c.disabled = !send.checked; };
      send.addEventListener("change", sync);
      sync();
    }
    const ends = input.min || input.max ? ` ${input.min ?? ""} to ${input.max ?? ""}` : "";
    const bounds = input.kind === "string" ? "" : ends; // its type has them
    rows.push(row(input.name, id, c, { note: (hints[input.kind] || input.type) + bounds, doc: input.doc, send }));
    reads.push((inputs) => { if (!send || send.checked) { const v = read(); if (v !== null) inputs[input.name] = v; } });
  }
  const details = [];
  if (o.creates) {
    record = text("record", given.newRecord);
    details.push(row("Record id", "f-record", record));
  }
  if (o.by !== "system" && machine.requestId !== "none") {
    request = text("request", given.request);
    details.push(row("Request id", "f-request", request, { note: "the same one again is a repeated call" }));
  }
  if (!o.creates && machine.expectedRev !== "none") {
    rev = el("input", { type: "number", id: "f-rev", min: "0", step: "1", value: String(given.rev) });
    details.push(row("Expected revision", "f-rev", rev, { note: "an old one is a late worker" }));
  }
  const submit = (event) => {
    event.preventDefault();
    const step = { operation: o.name, at: given.now, inputs: {} };
    if (record) step.record = record.value;
    else if (pick) step.record = pick.value;
    else if (!o.creates) step.record = given.record ?? "";
    if (actor?.value) step.actor = actor.value;
    if (reason?.value) step.reason = reason.value;
    if (request?.value) step.request = request.value;
    if (rev && step.record && Number(rev.value) > 0) step.rev = Number(rev.value);
    for (const read of reads) read(step.inputs);
    run(step);
  };
  return el("form", { class: "form", id: "form", onsubmit: submit, "aria-labelledby": "form-title", novalidate: true, "data-operation": o.name,
    oninput: (e) => { e.target.dataset.typed = ""; },
    onkeydown: (e) => { if (e.key === "Escape") { e.stopPropagation(); cancel(); } } },
    el("h3", { id: "form-title" }, o.name, !o.creates && !o.picks && given.record && el("span", { class: "muted" }, " on " + given.record)),
    o.doc && el("p", { class: "muted" }, o.doc),
    rows,
    details.length > 0 && el("details", { class: "more" }, el("summary", {}, "More"), details),
    el("div", { class: "buttons" },
      el("button", { type: "submit", class: "primary", id: "run" }, "Run " + o.name),
      el("button", { type: "button", class: "plain", onclick: cancel }, "Cancel")));
}
