// The bounded model checker, and walking through what it finds.
import { announce, api, badge, copy, el, show } from "./dom.js";
import { excerpt, place } from "./source.js";

const bounds = [
  ["records", "Records at once", 8], ["groups", "Groups", 8], ["workers", "Workers", 8], ["counter", "Counters to", 100], ["maxStates", "States at most", 2000000],
];

export class Checker {
  constructor(app) { this.app = app; this.result = null; this.at = 0; this.running = null; }

  start(panel) {
    this.running?.abort(); // of the machine that was shown before
    this.running = null;
    this.panel = panel;
    this.result = null;
    this.at = 0;
    this.bounds = { ...this.app.machine.bounds };
    this.render();
  }

  /** run searches. A search that runs is ended: here, and by that in the server. */
  async run() {
    this.running?.abort();
    const mine = (this.running = new AbortController());
    this.render();
    announce("Searching");
    try {
      const result = await api(`machine/${this.app.n}/check`, this.bounds, mine.signal);
      if (mine !== this.running) return; // it is about another file, or other bounds
      this.result = result;
      this.at = 0;
      announce(result.what ? "A promise is broken: " + result.what : "Every promise holds within the bounds");
    } catch (e) {
      if (mine !== this.running) return;
      announce(e.name === "AbortError" ? "The search was stopped" : e.message);
    }
    this.running = null;
    this.render();
    this.mark();
    this.panel.querySelector("#check-run")?.focus({ preventScroll: true });
  }

  /** goTest puts the counterexample on the clipboard as a test; app.tests asks for one where the search wrote none. */
  async goTest(r) {
    try { await copy(r.goTest || (await this.app.tests(r.bounds)), "the Go test"); } catch (e) { announce(e.message); }
  }

  go(to) {
    const n = this.result.trace.length;
    this.at = Math.max(0, Math.min(n - 1, to));
    this.render();
    this.mark();
    const s = this.result.trace[this.at];
    announce(`Step ${this.at + 1} of ${n}: ${s.who}, ${s.what}`);
    this.panel.querySelector("#trace-steps [aria-current]")?.focus({ preventScroll: true });
  }

  mark() {
    const s = this.result?.trace[this.at];
    if (!s || this.app.tab !== "check") return;
    this.app.picture.mark({ states: s.records, current: s.to, from: s.from === "(new)" ? "" : s.from, to: s.to, operation: s.operation ?? "" });
  }

  render() {
    const r = this.result;
    show(this.panel, el("h2", {}, "Check"),
      el("p", { class: "muted" }, "Explores every interleaving of a few records, with crashes, retries and late calls."),
      el("form", { class: "form bounds", novalidate: true, onsubmit: (e) => { e.preventDefault(); this.run(); } },
        bounds.map(([name, label, most]) => el("div", { class: "field" }, el("label", { for: "b-" + name }, label),
          el("input", { type: "number", min: "1", max: String(most), id: "b-" + name, value: String(this.bounds[name]), onchange: (e) => { this.bounds[name] = Number(e.target.value) || 0; } }))),
        el("div", { class: "buttons" }, el("button", { type: "submit", class: "primary", id: "check-run", }, this.running ? "Search again" : "Search"),
          this.running && el("button", { type: "button", class: "plain", id: "check-stop", onclick: () => this.running?.abort() }, "Stop"),
          this.running && el("span", { class: "muted" }, "Searching…"))),
      r && this.found(r));
  }

  found(r) {
    return el("section", { "aria-label": "What was found", class: "outcome " + (r.what ? "refused" : "accepted") },
      el("h3", {}, el("span", { class: "mark " + (r.what ? "refused" : "accepted") }, r.what ? "broken" : "holds"), " ",
        r.what || "Every promise holds within the bounds"),
      el("p", { class: "muted" }, r.summary),
      r.limits.length > 0 && el("p", {}, "Not explored: " + r.limits.join(", ")),
      r.place && el("p", {}, "It is about ", place(this.app, r.place)),
      r.trace.length > 0 && this.trace(r));
  }

  trace(r) {
    const s = r.trace[this.at];
    const keys = (e) => {
      const to = { ArrowDown: this.at + 1, ArrowRight: this.at + 1, ArrowUp: this.at - 1, ArrowLeft: this.at - 1, Home: 0, End: r.trace.length - 1 }[e.key];
      if (to === undefined) return;
      e.preventDefault();
      this.go(to);
    };
    return [
      el("div", { class: "buttons" },
        el("button", { type: "button", class: "plain small", id: "trace-back", disabled: this.at === 0, onclick: () => this.go(this.at - 1) }, "Back"),
        el("button", { type: "button", class: "plain small", id: "trace-on", disabled: this.at === r.trace.length - 1, onclick: () => this.go(this.at + 1) }, "Next"),
        el("span", { class: "muted" }, `step ${this.at + 1} of ${r.trace.length}`),
        (r.goTest || this.app.tests) && el("button", { type: "button", class: "plain small", id: "copy-test", onclick: () => this.goTest(r) }, "Copy as Go test")),
      el("ol", { class: "history", id: "trace-steps", onkeydown: keys }, r.trace.map((x, i) => el("li", {},
        el("button", { type: "button", class: "link", "aria-current": i === this.at ? "step" : undefined, onclick: () => this.go(i) }, x.what), " ",
        el("span", { class: "muted" }, `${x.who}, record ${x.record}`)))),
      el("div", { class: "card" },
        el("p", { class: "moved" }, `Record ${s.record}: `, s.from === "(new)" ? el("span", { class: "muted" }, "new") : badge(s.from, this.app.role(s.from)),
          s.to && s.to !== s.from && [" → ", badge(s.to, this.app.role(s.to))]),
        s.records.length > 1 && el("p", { class: "muted" }, "All records: " + s.records.map((x, i) => `${i + 1} ${x || "none"}`).join(", ")),
        s.changed.length > 0 && el("ul", { class: "needed" }, s.changed.map((c) => el("li", {}, c))),
        s.place && excerpt(this.app, s.place)),
    ];
  }
}
