// The text of the file: excerpts at a place, and all of it.
import { el, show } from "./dom.js";

/** place is a link to a place in the file. */
export function place(app, at) {
  return el("button", { type: "button", class: "link place", onclick: () => app.openSource(at) },
    `${app.file.file}:${at.line}:${at.column}`);
}

/** marked is a line with what stands at a place marked. */
function marked(line, at) {
  const letters = Array.from(line);
  const from = Math.min(at.column - 1, letters.length);
  const to = Math.min(from + at.length, letters.length);
  if (from === to) return [line];
  return [letters.slice(0, from).join(""), el("mark", {}, letters.slice(from, to).join("")), letters.slice(to).join("")];
}

/** excerpt shows a place of the file with the lines around it. */
export function excerpt(app, at, around = 1) {
  if (!at || at.line < 1) return null;
  const lines = app.file.lines;
  const rows = [];
  for (let n = Math.max(1, at.line - around); n <= Math.min(lines.length, at.line + around); n++) {
    rows.push(el("span", { class: n === at.line ? "row here" : "row" },
      el("span", { class: "number", "aria-hidden": "true" }, String(n)),
      el("span", { class: "code" }, n === at.line ? marked(lines[n - 1], at) : lines[n - 1]), "\n"));
  }
  return el("figure", { class: "excerpt" },
    el("figcaption", {}, place(app, at)),
    el("pre", {}, el("code", {}, rows)));
}

/** finding shows a finding with its place. */
export function finding(app, f) {
  return el("article", { class: "finding " + f.severity },
    el("h3", {}, el("span", { class: "severity" }, f.severity), " ", f.message, " ", el("span", { class: "code-name" }, `[${f.code}]`)),
    excerpt(app, f.place),
    f.before && el("p", {}, el("b", {}, "before: "), el("code", {}, f.before)),
    f.after && el("p", {}, el("b", {}, "after: "), el("code", {}, f.after)),
    (f.related || []).map((r) => el("div", { class: "related" }, el("p", {}, r.message), excerpt(app, r.place, 0))),
    f.hint && el("p", { class: "hint" }, el("b", {}, "To fix it: "), f.hint));
}

/** source shows the whole file. */
export function source(app, panel) {
  show(panel, el("h2", {}, "Source"),
    el("p", { class: "muted" }, app.file.file),
    el("div", { class: "source", id: "source", tabindex: "0", role: "region", "aria-label": "Source of " + app.file.file },
      el("pre", {}, el("code", {}, app.file.lines.map((line, i) => el("span", { class: "row", id: "line-" + (i + 1) },
        el("span", { class: "number", "aria-hidden": "true" }, String(i + 1)),
        el("span", { class: "code" }, line), "\n"))))));
}

/** goTo marks a place in the source and brings it into view. */
export function goTo(app, at) {
  for (const row of document.querySelectorAll("#source .row.here")) {
    row.classList.remove("here");
    const n = Number(row.id.slice(5));
    row.querySelector(".code").replaceChildren(app.file.lines[n - 1]);
  }
  const row = document.getElementById("line-" + at.line);
  if (!row) return;
  row.classList.add("here");
  row.querySelector(".code").replaceChildren(...marked(app.file.lines[at.line - 1], at));
  row.scrollIntoView({ block: "center" });
  document.getElementById("source").focus({ preventScroll: true });
}
