// What a live database holds: read, never written.
import { announce, api, badge, clockText, el, plural, show, table } from "./dom.js";

export class Database {
  constructor(app) { this.app = app; }

  async start(panel) {
    this.panel = panel;
    this.id = "";
    this.view = this.log = this.found = null;
    this.problem = "";
    this.render();
    this.fetched = false;
  }

  /** opened asks the database when its tab is looked at for the first time. */
  async opened() { if (!this.fetched) { this.fetched = true; await this.refresh(); } }

  async ask(path, take, done) {
    const asked = this.app.file;
    try {
      const value = await api(`machine/${this.app.n}/${path}`);
      if (asked !== this.app.file) return;
      take(value);
      this.problem = "";
      announce(done(value));
    } catch (e) {
      this.problem = e.message;
      announce(e.message);
    }
    this.render();
  }

  refresh() { return this.ask("database", (v) => { this.view = v; }, () => "Refreshed"); }
  history(id) { this.id = id; return this.ask("history?id=" + encodeURIComponent(id), (v) => { this.log = v; }, (v) => plural(v.events.length, "event")); }
  audit() { return this.ask("audit", (v) => { this.found = v; }, (v) => `The audit has ${plural(v.findings.length, "finding")}`); }

  link(id) { return el("button", { type: "button", class: "link", onclick: () => this.history(id).then(() => this.panel.querySelector("#timeline")?.focus()) }, id); }

  broken(r) { return r.broken && el("span", { class: "tag due" }, "breaks a rule"); }

  render() {
    const active = document.activeElement?.id;
    const v = this.view;
    show(this.panel, el("h2", {}, "Database"),
      el("p", { class: "muted" }, this.app.database, " · read-only"),
      el("div", { class: "buttons" },
        el("button", { type: "button", class: "primary", id: "db-refresh", onclick: () => this.refresh() }, "Refresh"),
        el("button", { type: "button", class: "plain", id: "db-audit", onclick: () => this.audit() }, "Audit")),
      this.problem && el("p", { class: "problem", role: "alert" }, this.problem),
      this.found && this.findings(this.found),
      v && [this.counts(v), this.overdue(v)],
      this.lookup(), this.log && this.timeline(this.log),
      v && v.recent.length > 0 && [el("h3", {}, "Recently changed"),
        table("Recently changed records", ["record", "state", "revision", "changed"], v.recent.map((r) => [[this.link(r.id), this.broken(r)], badge(r.state, this.app.role(r.state)), String(r.rev), clockText(r.updated)]))]);
    if (active && document.activeElement === document.body) this.panel.querySelector("#" + CSS.escape(active))?.focus({ preventScroll: true });
  }

  counts(v) {
    const all = v.counts.reduce((n, c) => n + c.count, 0);
    return [el("h3", {}, "Records by state"), el("p", { class: "muted" }, `${plural(all, "record")}, read at ${clockText(v.now)}`),
      table("Records by state", ["state", "records", "share"], v.counts.map((c) => [
        badge(c.state, this.app.role(c.state)), String(c.count),
        el("meter", { min: "0", max: String(Math.max(all, 1)), value: c.count, "aria-label": `share of ${c.state}` })]), "numbers")];
  }

  overdue(v) {
    return [el("h3", {}, "Overdue"), v.overdue.length === 0 ? el("p", { class: "muted" }, "No deadline has passed.") :
      table("Records whose deadline has passed", ["record", "state", "waits for", "deadline", "late by"], v.overdue.map((o) => [
        [this.link(o.id), this.broken(o)], badge(o.state, this.app.role(o.state)), `${o.operation} (${o.field})`, clockText(o.deadline), o.late])),
    v.more && el("p", { class: "muted" }, "There are more.")];
  }

  lookup() {
    const id = el("input", { type: "text", id: "db-id", value: this.id, autocomplete: "off", spellcheck: "false" });
    return el("form", { class: "form lookup", onsubmit: (e) => { e.preventDefault(); this.history(id.value); } },
      el("div", { class: "field" }, el("label", { for: "db-id" }, "History of a record"), id),
      el("div", { class: "buttons" }, el("button", { type: "submit", class: "plain", id: "db-history" }, "Show")));
  }

  timeline(log) {
    if (!log.record && log.events.length === 0) return el("p", { class: "problem" }, `No record has the id ${JSON.stringify(this.id)}.`);
    return el("section", { id: "timeline", tabindex: "-1", "aria-label": "History of " + this.id },
      el("h3", {}, this.id, " ", log.record && badge(log.record.state, this.app.role(log.record.state)), log.record && el("span", { class: "muted" }, ` revision ${log.record.rev}`)),
      log.fields.length > 0 && el("dl", { class: "fields" }, log.fields.map((f) => [el("dt", {}, f.name), el("dd", {}, f.text)])),
      el("ol", { class: "timeline" }, log.events.map((e) => el("li", { class: e.recordOnly ? "only" : "" },
        el("p", {}, el("b", {}, e.event), " ", e.from && e.from !== e.to ? [badge(e.from, this.app.role(e.from)), " → "] : "", badge(e.to, this.app.role(e.to))),
        el("p", { class: "muted" }, [clockText(e.at), `revision ${e.rev}${e.recordOnly ? `, recorded only (${e.n})` : ""}`, e.event !== e.operation && e.operation,
          e.actor && "by " + e.actor, e.reason && `because ${e.reason}`, e.request && "request " + e.request, e.cause && "follows " + e.cause].filter(Boolean).join(" · ")),
        e.changes.length > 0 && el("ul", { class: "needed" }, e.changes.map((c) => el("li", {}, el("code", {}, c.name), ": ", c.text)))))),
      log.more && el("p", { class: "muted" }, "There are earlier events."));
  }

  findings(a) {
    return el("section", { "aria-label": "Audit", class: "outcome " + (a.findings.length ? "refused" : "accepted") },
      el("h3", {}, el("span", { class: "mark " + (a.findings.length ? "refused" : "accepted") }, a.findings.length ? "broken" : "holds"), " ",
        a.findings.length ? plural(a.findings.length, "finding") : "Nothing breaks a rule"),
      el("p", { class: "muted" }, `${plural(a.records, "record")} and their logs were checked`),
      a.findings.length > 0 && table("Findings of the audit", ["record", "rule", "what"], a.findings.map((f) => [f.id ? this.link(f.id) : "", [f.rule, !f.must && " (should)"], f.text])),
      a.more && el("p", { class: "muted" }, "There are more."));
  }
}
