// The page: which machine, which tab, keys, and changes of the files.
import { announce, api, byId, el, plural, show, stored, store } from "./dom.js";
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

const app = {
  n: -1, drawn: -1, problems: [], connected: false, file: null, machine: null, database: "", machines: [], tab: "step", hashes: [],
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
const session = new Session(app), checker = new Checker(app);

const tabs = [
  { id: "step", title: "Step", fill: (p) => session.start(p), shown: () => session.mark() },
  { id: "states", title: "States", fill: (p) => states(app, p) },
  { id: "operations", title: "Operations", fill: (p) => operations(app, p) },
  { id: "matrix", title: "Matrix", fill: (p) => matrix(app, p) },
  { id: "check", title: "Check", fill: (p) => checker.start(p), shown: () => checker.mark() },
  { id: "source", title: "Source", fill: (p) => source(app, p), always: true },
];

const offered = () => tabs.filter((t) => app.machine || t.always);

/** select shows a tab. */
function select(id, focus = false) {
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

/** draw shows a file as it is now. */
async function draw() {
  let file;
  try { file = await api("machine/" + app.n); } catch (e) { lost(e.message); return; }
  app.problems[app.n] = "";
  app.drawn = app.n;
  linked();
  byId("columns").hidden = false;
  app.file = file;
  app.machine = file.machine ?? null;
  app.hashes[app.n] = file.hash;
  document.title = `${file.name} · fsmgen`;
  byId("name").textContent = file.name;
  const m = app.machine;
  byId("doc").textContent = m ? m.doc : "";
  byId("facts").textContent = m ? [m.entity, plural(m.states.length, "state"), plural(m.operations.length, "operation"), "version " + m.version, file.file].join(" · ") : file.file;
  const notes = byId("notes");
  notes.hidden = !m || file.findings.length === 0;
  byId("notes-summary").textContent = plural(file.findings.length, "warning") + " from fsmgen check";
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

/** lost says why a file cannot be shown. Its last version stays where it is seen, and none of another file. */
function lost(problem) {
  app.problems[app.n] = problem;
  linked();
  announce(problem);
  if (app.drawn === app.n) return;
  app.drawn = -1;
  app.file = app.machine = null;
  const { name, file } = app.machines[app.n];
  document.title = `${name} · fsmgen`;
  byId("name").textContent = name;
  byId("doc").textContent = "";
  byId("facts").textContent = file;
  byId("notes").hidden = byId("columns").hidden = true;
}

let drawing = Promise.resolve();
/** redraw draws, one after the other. */
function redraw() {
  drawing = drawing.then(draw).catch((e) => announce(e.message));
  return drawing;
}

function listMachines() {
  const twin = (m) => app.machines.filter((x) => x.name === m.name).length > 1; // told apart by their paths
  show(byId("machines"), app.machines.map((m, i) => el("li", {}, el("a", { href: "#" + i, "aria-current": i === app.n ? "page" : undefined },
    m.name, twin(m) && [" ", el("span", { class: "path" }, m.file)], m.errors > 0 && el("span", { class: "tag due" }, plural(m.errors, "error"))))));
}

async function route() {
  const n = Number(location.hash.slice(1));
  const to = Number.isInteger(n) && n >= 0 && n < app.machines.length ? n : 0;
  if (to === app.n) return;
  app.n = to;
  linked();
  listMachines();
  await redraw();
}

/** linked says whether what is shown follows the file. */
function linked() {
  const gone = app.problems[app.n], on = app.connected && !gone;
  byId("link").textContent = !app.connected ? "not connected" : gone ? "file cannot be read" : "live";
  byId("gone").hidden = !gone;
  byId("gone").textContent = gone ?? "";
  byId("link").className = "link-state " + (on ? "on" : "off");
}

/** follow draws again what has changed. */
function follow() {
  const events = new EventSource("/api/events");
  events.onopen = () => { app.connected = true; linked(); };
  events.onerror = () => { app.connected = false; linked(); };
  events.addEventListener("change", async (e) => {
    const c = JSON.parse(e.data);
    const lacking = c.machine === app.n && app.drawn !== app.n; // it was gone when it was asked for
    app.problems[c.machine] = c.problem;
    linked();
    if (c.problem) { if (c.machine === app.n) announce(c.problem); return; }
    if (!lacking && (app.hashes[c.machine] ?? c.hash) === c.hash) { app.hashes[c.machine] = c.hash; return; }
    app.hashes[c.machine] = c.hash;
    ({ machines: app.machines } = await api("overview"));
    listMachines();
    if (c.machine !== app.n) return;
    announce(lacking ? "The file is back" : "The file has changed");
    await redraw();
  });
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

function help() {
  show(byId("help-keys"), keys.map(([k, what]) => el("tr", {}, el("th", { scope: "row" }, el("kbd", {}, k)), el("td", {}, what))));
  byId("help-open").addEventListener("click", () => byId("help").showModal());
  byId("help-close").addEventListener("click", () => byId("help").close());
  const box = byId("help-single");
  box.checked = singles();
  box.addEventListener("change", () => { try { localStorage.setItem("fsmgen:keys", box.checked ? "on" : "off"); } catch { /* it holds for this page only */ } });
}

async function begin() {
  help();
  document.addEventListener("keydown", shortcuts);
  addEventListener("hashchange", route);
  try {
    ({ machines: app.machines, database: app.database = "" } = await api("overview"));
    byId("database").hidden = !app.database;
  } catch (e) {
    byId("name").textContent = e.message;
    return;
  }
  await route();
  document.documentElement.dataset.ready = "yes";
  follow();
}

begin();
