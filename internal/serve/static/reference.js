// States, operations and the matrix, as the specification has them.
import { badge, el, show, table } from "./dom.js";
import { place } from "./source.js";

const kindOf = (s) => (s.terminal ? "terminal" : s.final ? "final" : "");

export function states(app, panel) {
  const m = app.machine;
  show(panel, el("h2", {}, "States"),
    m.states.map((s) => el("article", { class: "card", id: "state-" + s.name, tabindex: "-1" },
      el("h3", {}, badge(s.name, s.role), kindOf(s) && el("span", { class: "tag" }, kindOf(s))),
      s.doc && el("p", {}, s.doc),
      s.rules.length > 0 && el("ul", { class: "rules" }, s.rules.map((r) => el("li", {},
        el("span", { class: r.must ? "must" : "should" }, r.must ? "must" : "should"), " ", el("code", {}, r.text)))),
      el("p", { class: "muted" }, "Operations out: ", leaving(app, s.name)),
      el("p", {}, place(app, s.place)))),
    m.forbidden.length > 0 && [
      el("h3", {}, "Never possible"),
      table("Moves that must never become possible", ["from", "to", "reason"], m.forbidden.map((f) => [f.from, f.after ? f.to + ", by any number of steps" : f.to, f.reason]))],
    m.steps.length > 0 && [
      el("h3", {}, "Each step keeps"),
      table("Rules over the record before (old.) and after a step", ["rule", "reason"], m.steps.map((s) => [el("code", {}, s.rule), s.reason]))],
    el("h3", {}, "Fields"),
    table("Fields of the record", ["field", "type", "about"], m.fields.map((f) => [f.name, el("code", {}, f.type), f.doc || ""])));
}

function leaving(app, state) {
  const ops = app.machine.operations.filter((o) => o.from.includes(state));
  if (!ops.length) return "nothing";
  return ops.flatMap((o, i) => [i > 0 && ", ", el("button", { type: "button", class: "link", onclick: () => app.reveal("operations", "operation-" + o.name) }, o.name)]);
}

export function operations(app, panel) {
  const m = app.machine;
  show(panel, el("h2", {}, "Operations"),
    m.operations.map((o) => el("article", { class: "card", id: "operation-" + o.name, tabindex: "-1" },
      el("h3", {}, o.name, el("span", { class: "tag" }, o.creates ? "creation" : "by " + o.by), o.internal && el("span", { class: "tag" }, "internal")),
      o.doc && el("p", {}, o.doc),
      el("p", {}, o.creates ? "new" : o.from.join(", "), " → ", o.to.join(" or "), el("span", { class: "muted" }, ` · event ${o.event}`)),
      o.guards.length > 0 && el("dl", {}, o.guards.map((g) => [el("dt", {}, `guard ${g.name}`, g.error && el("span", { class: "muted" }, ` · ${g.error}`)),
        el("dd", {}, el("code", {}, g.meaning), " ", place(app, g.place))])),
      o.inputs.length > 0 && el("p", {}, "Inputs: ", o.inputs.map((i, n) => [n > 0 && ", ", el("code", {}, `${i.name}: ${i.type}`)])),
      o.effects.length > 0 && el("p", {}, "Sets: ", o.effects.map((e, n) => [n > 0 && ", ", el("code", {}, e)])),
      o.notes.length > 0 && el("ul", {}, o.notes.map((n) => el("li", {}, n))),
      el("p", {}, el("button", { type: "button", class: "plain small", onclick: () => app.openForm(o.name) }, "Step with it"), " ", place(app, o.place)))));
}

export function matrix(app, panel) {
  const m = app.machine;
  const cell = (text) => {
    if (text === "") return el("span", { class: "muted" }, "");
    if (text === "reject") return el("span", { class: "muted", title: "refused" }, el("span", { "aria-hidden": "true" }, "–"), el("span", { class: "unseen" }, "refused"));
    if (text === "record_only") return el("em", {}, "recorded");
    return text.replaceAll("record_only", "recorded").replaceAll(" | ", " or ");
  };
  show(panel, el("h2", {}, "Matrix"),
    el("p", { class: "muted" }, "A cell names the state that follows. –: refused; recorded: an event is written, nothing changes."),
    table("What each operation does in each state", ["operation", ...m.columns],
      m.operations.map((o, i) => [o.name, ...m.rows[i].map(cell)]), "matrix"));
}
