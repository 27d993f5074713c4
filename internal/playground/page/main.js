// The playground: an editor, and fsmgen in the browser. What is seen of a machine is the
// page of `fsmgen serve`; this file has what the page does without a server.
import { announce, byId, copy, el, plural, show } from "../../serve/static/dom.js";
import { programs } from "./programs.js";
import { app, help, present, tabs } from "../../serve/static/desk.js";
import { completer } from "./complete.js";
import { edits, editor, placed, underline } from "./editor.js";
import { save } from "./files.js";
import { pack, unpack } from "./link.js";
import { panels } from "./panels.js";

const examples = ["job", "lifecycle", "execution", "task", "ingest", "jobstate"];
const about = {
  job: "a queue, to start from", lifecycle: "jobs with leases and retries", execution: "workers, stalls and giving up",
  task: "tasks with owners", ingest: "files that are taken in", jobstate: "the states of a job, told by another system",
};
const state = { base: null, example: "", version: 0, busy: false };
let schema;
app.n = 0;
app.typed = true;
app.tests = async (bounds) => JSON.parse(await programs.write("check", JSON.stringify(bounds))).goTest;

const nameOf = (text) => (/^machine:\s*["']?([a-z][a-z0-9_]*)/m.exec(text)?.[1] ?? "machine") + ".yaml";

const view = editor(byId("editor"), {
  changed: () => changed(),
  complete: completer(() => (schema ??= fetch("schema.json").then((r) => r.json()))),
});

app.openSource = (at) => {
  const [from, to] = placed(view, at);
  view.dispatch({ selection: { anchor: from, head: to }, scrollIntoView: true });
  view.focus();
};
tabs.splice(tabs.findIndex((t) => t.id === "source"), 1, ...panels(app, () => state.base));
tabs.push({ id: "source", title: "Errors", instead: true, fill: (p) => show(p, el("p", {}, "Steps, checks and code appear here as soon as the text beside is a machine without errors.")) });

let timer;
function changed() {
  clearTimeout(timer);
  timer = setTimeout(check, 80);
}

/** check shows the text as it is now; of texts that come while it works, the last one. */
async function check() {
  if (state.busy) { state.again = true; return; }
  state.busy = true;
  try {
    do {
      state.again = false;
      await checkOnce();
    } while (state.again);
  } catch (e) {
    byId("name").textContent = e.message;
    announce(e.message);
  } finally { state.busy = false; }
}

async function checkOnce() {
  const text = view.state.doc.toString(), version = ++state.version, began = performance.now();
  const file = await programs.put(nameOf(text) + "\n" + text);
  const marks = (fixes) => underline(view, file.findings, (i) => fixes.find((f) => f.finding === i), apply);
  if (view.state.doc.toString() === text) marks([]);
  const shown = new Promise((resolve) => { state.drawn = resolve; });
  await present(file);
  await Promise.race([shown, new Promise((r) => setTimeout(r, file.machine ? 5000 : 0))]);
  document.documentElement.dataset.ready = String(version);
  document.documentElement.dataset.shown = String(Math.round(performance.now() - began));
  const warnings = file.findings.filter((f) => f.severity === "warning").length;
  byId("verdict").textContent = file.errors > 0 ? plural(file.errors, "error") : warnings > 0 ? plural(warnings, "warning") : "no errors, every rule proven";
  byId("verdict").className = "link-state " + (file.errors > 0 ? "off" : "on");
  history.replaceState(null, "", state.base?.endsWith("\n" + text) ? "#" + state.example : await pack(text));
  if (state.again || file.findings.length === 0) return;
  const fixes = JSON.parse(await programs.ask("fixes"));
  if (view.state.doc.toString() !== text || fixes.length === 0) return;
  marks(fixes);
  offer(file, fixes);
}

/** offer puts a button below each finding that has an edit. */
function offer(file, fixes) {
  const list = byId(app.machine ? "notes-list" : "findings").querySelectorAll(".finding");
  for (const f of fixes) {
    list[f.finding]?.append(el("p", {}, el("button", { type: "button", class: "plain small fix", onclick: () => apply(f) }, f.choice ? "Fix it this way" : "Fix it")));
  }
}

function apply(fix) {
  view.dispatch({ changes: edits(view, fix.edits) });
  view.focus();
}

// The picture says when it is drawn.
const mark = app.picture.mark.bind(app.picture);
app.picture.mark = (...args) => { mark(...args); if (app.picture.svg) state.drawn?.(); };

function put(text) {
  view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text }, selection: { anchor: 0 }, scrollIntoView: true });
  clearTimeout(timer);
  return check();
}

/** open opens what the address names: a machine, or an example. */
async function open() {
  let text = null;
  try { text = await unpack(location.hash); } catch (e) {
    announce(e.message);
    if (state.version > 0) return; // what is shown stays
  }
  app.picture.n = -1; // what is drawn is of another machine
  if (text !== null) {
    Object.assign(state, { base: null, example: "" });
    byId("example").value = "";
    await put(text);
    return;
  }
  const name = examples.includes(location.hash.slice(1)) ? location.hash.slice(1) : examples[0];
  const answer = await fetch(`examples/${name}.yaml`);
  if (!answer.ok) throw new Error(`the file server has no example ${name}`);
  text = await answer.text();
  Object.assign(state, { example: name, base: nameOf(text) + "\n" + text });
  byId("example").value = name;
  await put(text);
}

function begin() {
  help();
  programs.first.ask("picture.css").then((css) => document.querySelector("link[rel=stylesheet]").before(el("style", {}, css)), () => {}); // the first text says why
  show(byId("example"), el("option", { value: "", disabled: true }, "from a link"), examples.map((n) => el("option", { value: n }, `${n}: ${about[n]}`)));
  byId("example").addEventListener("change", () => { location.hash = byId("example").value; });
  byId("share").addEventListener("click", async () => {
    const link = new URL(await pack(view.state.doc.toString()), location.href).href;
    copy(link, `the link (${link.length} characters)`);
  });
  byId("save").addEventListener("click", () => { const text = view.state.doc.toString(); save(nameOf(text), text, "application/yaml"); });
  byId("reset").addEventListener("click", () => { if (state.base) put(state.base.slice(state.base.indexOf("\n") + 1)); });
  addEventListener("hashchange", () => open().catch((e) => announce(e.message)));
  open().catch((e) => { byId("name").textContent = e.message; });
}

begin();
