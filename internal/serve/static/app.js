// The page of fsmgen serve: which machine, and changes of the files.
import { announce, api, byId, el, plural, show } from "./dom.js";
import { app, help, present } from "./desk.js";

Object.assign(app, { drawn: -1, problems: [], connected: false, machines: [], hashes: [] });

/** draw shows a file as it is now. */
async function draw() {
  let file;
  try { file = await api("machine/" + app.n); } catch (e) { lost(e.message); return; }
  app.problems[app.n] = "";
  app.drawn = app.n;
  linked();
  byId("columns").hidden = false;
  app.hashes[app.n] = file.hash;
  await present(file);
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

async function begin() {
  help();
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
