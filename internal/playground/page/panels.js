// The tabs of the playground alone: what a change breaks, and what the commands print.
import { copy, el, show } from "../../serve/static/dom.js";
import { reader } from "./editor.js";
import { save, tar } from "./files.js";
import { programs } from "./programs.js";

/** lazy is a tab that asks when it is looked at, and again when the text is another one. */
function lazy(id, title, heading, ask, view) {
  let panel, text = null;
  return {
    id, title,
    fill(p) { panel = p; if (text !== programs.text) { text = null; show(p, el("h2", {}, heading)); } },
    async shown() {
      if (text === programs.text) return;
      const mine = (text = programs.text);
      show(panel, el("h2", {}, heading), el("p", { class: "muted", id: id + "-wait" }, "Working"));
      const slow = setTimeout(() => { if (text === mine) panel.querySelector("p")?.replaceChildren("Loading the part of fsmgen that writes Go and SQL"); }, 300);
      try {
        const answer = await ask();
        if (text === mine) { show(panel, el("h2", {}, heading)); view(panel, answer); }
      } catch (e) {
        if (text === mine) { text = null; show(panel, el("h2", {}, heading), el("pre", { class: "problem" }, e.message)); }
      } finally { clearTimeout(slow); }
    },
  };
}

const button = (id, text, onclick) => el("button", { type: "button", class: "plain small", id, onclick }, text);

/** go shows the generated files. */
const go = (app) => lazy("go", "Go", "Generated package", async () => JSON.parse(await programs.write("gen")), (panel, files) => {
  const box = el("div", { class: "generated" }), name = app.machine.name;
  let file;
  const choose = el("select", { id: "go-file", "aria-label": "File", onchange: () => open() }, files.map((f) => el("option", { value: f.name }, `${f.name} (${f.text.split("\n").length - 1} lines)`)));
  const open = () => {
    file = files.find((f) => f.name === choose.value);
    const kind = /\.go$/.test(file.name) ? "go" : /postgres/.test(file.name) ? "postgres" : /\.sql$/.test(file.name) ? "sqlite" : "";
    reader(box, file.text, kind, "Generated file " + file.name);
  };
  panel.append(el("p", { class: "muted" }, `What `, el("code", {}, `fsmgen gen ${name}.yaml`), ` writes into the folder ${name}.`),
    el("div", { class: "bar" }, choose, button("go-copy", "Copy", () => copy(file.text, file.name)), button("go-save", "Save", () => save(file.name, file.text)),
      button("go-all", "Save all", async () => save(name + ".tar.gz", await new Response(tar(name, files)).blob(), "application/gzip"))), box);
  open();
});

/** sql shows the schema of a database. */
function sqlTab(app) {
  let dialect = "sqlite";
  const tab = lazy("sql", "SQL", "SQL schema", () => Promise.all(["sqlite", "postgres"].map(async (d) => [d, await programs.write("sql", d)])), (panel, list) => {
    const texts = Object.fromEntries(list), box = el("div", { class: "generated" }), name = app.machine.name;
    const choose = el("select", { id: "sql-dialect", "aria-label": "Database", onchange: () => { dialect = choose.value; open(); } },
      [["sqlite", "SQLite"], ["postgres", "PostgreSQL"]].map(([value, text]) => el("option", { value }, text)));
    choose.value = dialect;
    const open = () => reader(box, texts[dialect], dialect, "SQL schema for " + dialect);
    panel.append(el("p", { class: "muted" }, "What ", el("code", {}, `fsmgen sql ${name}.yaml`), " prints. The package carries it, and Migrate installs it."),
      el("div", { class: "bar" }, choose, button("sql-copy", "Copy", () => copy(texts[dialect], "the schema")), button("sql-save", "Save", () => save(`${name}.${dialect}.sql`, texts[dialect]))), box);
    open();
  });
  return tab;
}

/** diff compares with the example that was opened. */
const diff = (base) => lazy("diff", "Diff", "What your change breaks", async () => (base() === null ? null : programs.write("diff", base())), (panel, text) => {
  if (text === null) { panel.append(el("p", {}, "This machine came by a link, so there is no example to compare with. Choose one, and change it.")); return; }
  panel.append(el("p", { class: "muted" }, "What ", el("code", {}, "fsmgen diff"), " says of the example as it was, and your text: for callers, for stored rows, for readers of the log."),
    el("pre", { class: "report", tabindex: "0", role: "region", "aria-label": "Differences", id: "diff-text" }, text || "Nothing has changed.\n"));
});

/** report shows what check prints, and saves pictures. */
const report = (app) => lazy("report", "Output", "What the commands print", () => Promise.all([programs.ask("report"), programs.ask("diagram", "mermaid brief"), programs.ask("diagram", "svg brief")]),
  (panel, [check, mermaid, svg]) => {
    const name = app.machine.name;
    panel.append(el("h3", {}, el("code", {}, `fsmgen check ${name}.yaml`)), el("pre", { class: "report", tabindex: "0", role: "region", "aria-label": "Output of check" , id: "report-text" }, check),
      el("h3", {}, el("code", {}, `fsmgen diagram ${name}.yaml`)),
      el("div", { class: "bar" }, button("svg-save", "Save as SVG", () => save(name + ".svg", svg, "image/svg+xml")), button("mermaid-copy", "Copy Mermaid", () => copy(mermaid, "the diagram"))),
      el("pre", { class: "report", tabindex: "0", role: "region", "aria-label": "Diagram for Mermaid", id: "mermaid-text" }, mermaid));
  });

/** panels are the tabs; base() is the example that was opened: its name, a line feed, its text. */
export const panels = (app, base) => [report(app), diff(base), go(app), sqlTab(app)];
