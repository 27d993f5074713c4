// What is shown of one machine: its picture, the tabs, and the keys. Where the file comes
// from, and who answers, is the matter of the page that uses this.
import { announce, byId, el, plural, show, stored, store } from "./dom.js";
import { Checker } from "./check.js";
import { Picture } from "./picture.js";
import { matrix, operations, states } from "./reference.js";
import { finding, goTo, source } from "./source.js";
import { Session } from "./step.js";

const keys = [
  ["1 … 7", "a tab"], ["p", "the picture; arrow keys move in it, Enter opens what is there"], ["n", "a new record"], ["o", "the operations"],
  ["u, Ctrl+Z", "undo"], ["r, Ctrl+Y", "redo"], ["t", "the clock to the next deadline"], ["j, k", "the next and the previous step of a counterexample"],
  ["Esc", "close a form"], ["?", "this list"],
];

export const app = {
  n: -1, file: null, machine: null, tab: "step", typed: false, // typed: the file changes at each key
  role(state) { return this.machine?.states.find((s) => s.name === state)?.role; },
  operation(name) { return this.machine?.operations.find((o) => o.name === name); },
  openSource(at) { select("source"); goTo(app, at); },
  openState(name) {
    const records = app.tab === "step" ? session.view?.records.filter((r) => r.state === name) ?? [] : [];
    if (records.length === 0) { app.reveal("states", "state-" + name); return; }
    const i = records.findIndex((r) => r.id === session.s.record);
    session.s.record = records[(i + 1) % records.length].id;
    session.render();
    announce(`${session.s.record} is ${name}`);
  },
  openOperation(name) {
    if (app.tab === "step") app.openForm(name);
    else app.reveal("operations", "operation-" + name);
  },
  openForm(name) { select("step"); session.openForm(name); },
  reveal(tab, id) {
    select(tab);
    const e = byId(id);
    if (!e) return;
    e.scrollIntoView({ block: "nearest" });
    e.focus({ preventScroll: true });
  },
};

const picture = (app.picture = new Picture(app));
export const session = new Session(app), checker = new Checker(app);

/** tabs are the tabs; always: also of a file with errors; instead: only of one. */
export const tabs = [
  { id: "step", title: "Step", fill: (p) => session.start(p), shown: () => session.mark() },
  { id: "states", title: "States", fill: (p) => states(app, p) },
  { id: "operations", title: "Operations", fill: (p) => operations(app, p) },
  { id: "matrix", title: "Matrix", fill: (p) => matrix(app, p) },
  { id: "check", title: "Check", fill: (p) => checker.start(p), shown: () => checker.mark() },
  { id: "source", title: "Source", fill: (p) => source(app, p), always: true },
];

const offered = () => tabs.filter((t) => (app.machine ? !t.instead : t.always || t.instead));

/** select shows a tab. */
export function select(id, focus = false) {
  const t = offered().find((x) => x.id === id) ?? offered()[0];
  app.tab = t.id;
  if (app.machine) store("fsmgen:tab", t.id);
  for (const x of offered()) {
    const tab = byId("tab-" + x.id), on = x === t;
    tab.setAttribute("aria-selected", String(on));
    tab.tabIndex = on ? 0 : -1;
    byId("panel-" + x.id).hidden = !on;
    if (on && focus) tab.focus();
  }
  if (app.machine) { picture.mark(); t.shown?.(); }
}

function buildTabs() {
  const list = offered();
  const key = (e, i) => {
    const to = { ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: list.length - 1 }[e.key];
    if (to === undefined) return;
    e.preventDefault();
    select(list[(to + list.length) % list.length].id, true);
  };
  show(byId("tabs"), list.map((t, i) => el("button", { type: "button", role: "tab", id: "tab-" + t.id, "aria-controls": "panel-" + t.id,
    onclick: () => select(t.id), onkeydown: (e) => key(e, i) }, t.title)));
  show(byId("panels"), list.map((t) => el("div", { role: "tabpanel", id: "panel-" + t.id, "aria-labelledby": "tab-" + t.id, class: "tabpanel", hidden: true })));
}

/** present shows a file as it is now. */
export async function present(file) {
  app.file = file;
  app.machine = file.machine ?? null;
  document.title = `${file.name} · fsmgen`;
  byId("name").textContent = file.name;
  const m = app.machine;
  byId("doc").textContent = m ? m.doc : "";
  byId("facts").textContent = m ? [m.entity, plural(m.states.length, "state"), plural(m.operations.length, "operation"), "version " + m.version, file.file].join(" · ") : file.file;
  const notes = byId("notes");
  notes.hidden = !m || file.findings.length === 0;
  const warnings = file.findings.filter((f) => f.severity === "warning").length;
  byId("notes-summary").textContent = (warnings ? plural(warnings, "warning") : plural(file.findings.length, "note")) + " from fsmgen check";
  show(byId("notes-list"), m ? file.findings.map((f) => finding(app, f)) : []);
  byId("findings").hidden = !!m;
  const kept = !m && picture.stale(app.n);
  byId("picture").hidden = !m && !kept;
  byId("zoom").hidden = !m;
  byId("left-title").textContent = m ? "Picture" : plural(file.errors, "error") + (kept ? "; the picture below is of the last valid version" : "");
  show(byId("findings"), m ? [] : file.findings.map((f) => finding(app, f)));
  const tab = app.tab;
  buildTabs();
  if (m) {
    picture.draw(app.n, file).then((drawn) => {
      if (!drawn) return;
      picture.mark();
      offered().find((t) => t.id === app.tab)?.shown?.();
    }, (e) => announce(e.message));
  }
  for (const t of offered()) await t.fill(byId("panel-" + t.id));
  select(m ? stored("fsmgen:tab") ?? tab : "source");
}

const typing = (e) => e.target.closest?.("input, textarea, select, dialog");

function shortcuts(e) {
  const ctrl = (e.ctrlKey || e.metaKey) && !e.altKey;
  const undoes = ctrl && e.key.toLowerCase() === "z" && !e.shiftKey, redoes = ctrl && (e.key.toLowerCase() === "y" || (e.key.toLowerCase() === "z" && e.shiftKey));
  if (typing(e) || !app.file) return;
  if ((undoes || redoes) && app.machine) { e.preventDefault(); undoes ? session.undo() : session.redo(); return; }
  if (ctrl || e.altKey || !singles()) return;
  const act = {
    p: () => picture.svg?.querySelector('.hit[tabindex="0"]')?.focus(),
    n: () => { select("step"); const o = app.machine.operations.find((x) => x.creates); if (o) session.openForm(o.name); },
    o: () => { select("step"); (document.querySelector(".operations button") ?? document.querySelector(".records button"))?.focus(); },
    u: () => session.undo(), r: () => session.redo(), t: () => session.nextDeadline(),
    j: () => app.tab === "check" && checker.result?.trace.length && checker.go(checker.at + 1),
    k: () => app.tab === "check" && checker.result?.trace.length && checker.go(checker.at - 1),
    "?": () => byId("help").showModal(),
  }[e.key] ?? (/^[1-7]$/.test(e.key) && offered()[Number(e.key) - 1] ? () => select(offered()[Number(e.key) - 1].id, true) : null);
  if (!act || (!app.machine && !/[?\d]/.test(e.key))) return;
  e.preventDefault();
  act();
}

const singles = () => { try { return localStorage.getItem("fsmgen:keys") !== "off"; } catch { return true; } };

/** help fills the list of keys, and listens to them. */
export function help() {
  show(byId("help-keys"), keys.map(([k, what]) => el("tr", {}, el("th", { scope: "row" }, el("kbd", {}, k)), el("td", {}, what))));
  byId("help-open").addEventListener("click", () => byId("help").showModal());
  byId("help-close").addEventListener("click", () => byId("help").close());
  const box = byId("help-single");
  box.checked = singles();
  box.addEventListener("change", () => { try { localStorage.setItem("fsmgen:keys", box.checked ? "on" : "off"); } catch { /* it holds for this page only */ } });
  document.addEventListener("keydown", shortcuts);
}
