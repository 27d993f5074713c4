// What a step led to: the change, the event, or the refusal and what it needs.
import { badge, clockText, el, shown } from "./dom.js";
import { excerpt } from "./source.js";

export const words = {
  accepted: "done", recorded: "recorded only", replayed: "replayed", existing: "found, not made", refused: "refused",
};

const explained = {
  recorded: "An event was written; the record did not change.",
  replayed: "The request id was known: the first outcome is returned, and nothing was written.",
  existing: "A record with the same key was there: it is returned, and nothing was written.",
};

/** outcome shows one step. */
export function outcome(app, step) {
  return el("div", { class: "outcome " + step.outcome },
    el("h3", {}, el("span", { class: "mark " + step.outcome }, words[step.outcome]), " ", step.operation,
      step.record && el("span", { class: "muted" }, " on " + step.record)),
    step.outcome !== "refused" && moved(app, step),
    explained[step.outcome] && el("p", {}, explained[step.outcome]),
    step.changes.length > 0 && el("table", { class: "changes" },
      el("caption", { class: "unseen" }, "Fields that changed"),
      el("thead", {}, el("tr", {}, ["field", "before", "after"].map((h) => el("th", { scope: "col" }, h)))),
      el("tbody", {}, step.changes.map((c) => el("tr", {}, el("th", { scope: "row" }, c.name),
        el("td", { class: "before" }, shown(c.before)), el("td", { class: "after" }, shown(c.after)))))),
    step.refusal && refusal(app, step.refusal),
    step.events.length > 0 && el("details", { class: "more" },
      el("summary", {}, step.events.length === 1 ? "The event" : `The ${step.events.length} events`),
      step.events.map((e) => event(e))));
}

function moved(app, step) {
  const role = (s) => app.machine.states.find((x) => x.name === s)?.role;
  return el("p", { class: "moved" },
    step.from ? badge(step.from, role(step.from)) : el("span", { class: "muted" }, "new"),
    " → ", badge(step.to, role(step.to)),
    el("span", { class: "muted" }, step.revBefore === step.revAfter ? ` revision ${step.revAfter}` : ` revision ${step.revBefore} → ${step.revAfter}`));
}

function refusal(app, r) {
  return el("div", { class: "refusal" },
    el("p", {}, el("b", {}, r.title), " ", el("code", { class: "code-name" }, r.code), r.error && [" ", el("code", { class: "code-name" }, r.error)]),
    r.guard && el("p", {}, `Guard ${r.guard.name}`, r.guard.message ? `: ${r.guard.message}` : "", r.guard.doc && !r.guard.message ? `: ${r.guard.doc}` : ""),
    r.causes.length > 0 && el("ul", { class: "causes" }, r.causes.map((c) => el("li", { class: c.holds ? "holds" : "fails" },
      el("span", { class: "sign" }, c.holds ? "holds" : "fails"), " ", el("code", {}, c.fact),
      el("span", { class: "muted" }, ` (${c.left}${c.right ? ", " + c.right : ""})`)))),
    r.needed.length > 0 && [el("p", {}, el("b", {}, "To be accepted")), el("ul", { class: "needed" }, r.needed.map((n) => el("li", {}, n)))],
    r.records.length > 0 && el("p", {}, "In the way: ", r.records.join(", ")),
    r.place && excerpt(app, r.place));
}

/** event shows a line of the log. */
export function event(e) {
  const rows = [
    ["revision", e.recordOnly ? `${e.rev}, recorded only (${e.n})` : String(e.rev)], ["event", e.event],
    ["move", `${e.from || "new"} → ${e.to}`], ["at", clockText(e.at)], ["actor", e.actor], ["reason", e.reason],
    ["request", e.request], ["follows", e.cause], ["failed guard", e.guard],
  ].filter(([, v]) => v);
  const named = (list) => list.map((c) => el("div", {}, `${c.name}${c.added ? " +" : c.gone ? " −" : ""}: `, shown(c.value)));
  return el("dl", { class: "event" },
    rows.map(([k, v]) => [el("dt", {}, k), el("dd", {}, v)]),
    e.inputs.length > 0 && [el("dt", {}, "inputs"), el("dd", {}, named(e.inputs))],
    e.changes.length > 0 && [el("dt", {}, "image"), el("dd", {}, named(e.changes))]);
}
