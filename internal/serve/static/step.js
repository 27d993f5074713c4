// Stepping: a session is a list of steps. The server plays it and says where it
// leads; this file knows no rule of the machine.
import { announce, api, badge, clockText, copy, el, plural, show, shown, store, stored } from "./dom.js";
import { form, later, localTime, utcTime } from "./form.js";
import { outcome, words } from "./outcome.js";

const fresh = () => ({ steps: [], cursor: 0, now: "", record: "", actor: "worker-1", number: 0 });

export class Session {
  constructor(app) { this.app = app; this.s = fresh(); this.view = null; this.open = ""; }

  get key() { return "fsmgen:" + this.app.file.file; }

  /** start takes up the session of this machine, when there is one. */
  async start(panel) {
    this.panel = panel;
    this.view = null;
    this.open = "";
    this.s = { ...fresh(), ...(stored(this.key) || {}) };
    await this.replay();
  }

  /** replay plays the session with the machine as it is now, and keeps what still goes. */
  async replay() {
    const before = this.s.outcomes || [];
    const kept = this.s.steps.slice(0, this.s.cursor);
    if (!(await this.play())) return;
    let good = this.view.steps.length;
    const other = this.view.steps.findIndex((step, i) => before[i] && before[i] !== step.outcome);
    if (other >= 0) good = Math.min(good, other);
    if (good < kept.length) {
      const why = this.view.stopped || `step ${good + 1}, ${kept[good].operation}, was ${words[before[good]]} and is now ${words[this.view.steps[good]?.outcome] || "not possible"}`;
      this.s.cursor = good;
      await this.play();
      announce(`Kept ${good} of ${plural(kept.length, "step")}: ${why}`);
    } else if (kept.length > 0 && !this.app.typed) {
      announce(`Replayed ${plural(kept.length, "step")} with the new file`);
    }
  }

  /** play asks the server where the steps up to the cursor lead, and shows it. */
  async play() {
    if (!(await this.ask())) return false;
    this.render();
    return true;
  }

  async ask() {
    try {
      this.view = await api(`machine/${this.app.n}/play`, { steps: this.s.steps.slice(0, this.s.cursor), now: this.s.now });
    } catch (e) {
      announce(e.message);
      return false;
    }
    if (!this.s.now) this.s.now = this.view.epoch;
    if (!this.view.records.some((r) => r.id === this.s.record)) this.s.record = this.view.records.at(-1)?.id ?? "";
    this.s.outcomes = this.view.steps.map((x) => x.outcome);
    store(this.key, this.s);
    return true;
  }

  get last() { return this.view.steps.at(-1); }

  async add(step) {
    if (this.busy) return;
    this.busy = true;
    try { await this.append(step); } finally { this.busy = false; }
  }

  async append(step) {
    const { s } = this, before = { ...s };
    s.steps = [...s.steps.slice(0, s.cursor), step];
    s.cursor++;
    s.number++;
    s.now = later(s.now, 1); // a step takes a second
    if (!(await this.ask())) { Object.assign(s, before); return; }
    const why = this.view.stopped, done = this.last;
    if (why) Object.assign(s, before); // the server cannot be asked for it: take it back, and say why
    else if (done.outcome === "refused") s.now = before.now;
    else {
      this.open = "";
      s.record = done.record || s.record;
      if (step.actor && this.app.operation(step.operation)?.by === "caller") s.actor = step.actor;
    }
    if ((why || done.outcome === "refused") && !(await this.ask())) return;
    store(this.key, s);
    this.render();
    const result = this.panel.querySelector("#result");
    if (why) result.prepend(el("p", { class: "problem" }, why));
    announce(why || (done.outcome === "refused" ? `${done.operation} was refused: ${done.refusal.title}` : `${done.operation}: ${words[done.outcome]}, ${done.record} is ${done.to}`));
    result.focus({ preventScroll: true });
    result.scrollIntoView({ block: "nearest" });
  }

  async goTo(cursor) {
    if (cursor < 0 || cursor > this.s.steps.length || cursor === this.s.cursor) return;
    this.s.cursor = cursor;
    this.s.now = cursor > 0 ? later(this.s.steps[cursor - 1].at, 1) : "";
    await this.play();
  }

  async undo() { if (this.s.cursor > 0) { const s = this.s.steps[this.s.cursor - 1]; await this.goTo(this.s.cursor - 1); announce(`${s.operation} was taken back`); } }
  async redo() { if (this.s.cursor < this.s.steps.length) { await this.goTo(this.s.cursor + 1); announce(`${this.last.operation} was done again`); } }
  async reset() { this.s = fresh(); this.open = ""; await this.play(); announce("The session is empty"); }

  async clock(iso) { if (!iso || Number.isNaN(Date.parse(iso))) return; this.s.now = iso; await this.play(); announce("The clock shows " + clockText(iso)); }
  async nextDeadline() {
    const d = this.view.deadlines.find((x) => !x.due);
    if (d) await this.clock(d.at);
    else announce("no deadline is to come");
  }

  /** openForm shows the form of an operation. */
  openForm(name) {
    this.panel.querySelector("#form")?.remove(); // what was typed into it is meant no more
    this.open = name;
    this.render();
    const f = this.panel.querySelector("#form");
    if (!f) { announce(`${name} follows an effect and cannot be called`); return; }
    f.scrollIntoView({ block: "nearest" });
    const first = [...f.querySelectorAll("input:not([type=checkbox]), select, textarea")].find((c) => !c.disabled && !c.closest("details"));
    (first ?? f.querySelector("#run")).focus({ preventScroll: true });
  }

  text() { return JSON.stringify({ machine: this.app.machine.name, meaning: this.app.machine.meaning, steps: this.s.steps.slice(0, this.s.cursor) }, null, 2); }

  /** goTest puts the steps on the clipboard as a test of the generated package. */
  async goTest() {
    let value;
    try {
      value = await api(`machine/${this.app.n}/gotest`, { steps: this.s.steps.slice(0, this.s.cursor) });
    } catch (e) {
      announce(e.message);
      return;
    }
    await copy(value.goTest, `a Go test of ${plural(value.steps - value.left, "step")}${value.left > 0 ? ` (${value.left} left out, it says why)` : ""}`);
  }

  async paste(text) {
    let value;
    try { value = JSON.parse(text); } catch { announce("that is no JSON"); return; }
    if (!Array.isArray(value?.steps) || !value.steps.every((x) => typeof x?.operation === "string" && typeof x.at === "string")) { announce("that is no session: it has no steps"); return; }
    this.s = { ...fresh(), steps: value.steps, cursor: value.steps.length, number: value.steps.length };
    this.s.now = value.steps.length ? later(value.steps.at(-1).at, 1) : "";
    await this.replay();
  }

  mark() {
    if (!this.view) return;
    const step = this.last;
    const record = this.view.records.find((r) => r.id === this.s.record);
    const done = step && step.outcome === "accepted";
    this.app.picture.mark({
      states: this.view.records.map((r) => r.state), current: record?.state ?? "",
      from: done ? step.from || "" : null, to: done ? step.events[0].to : null, operation: done ? step.operation : "",
    });
  }

  render() {
    const { view, s } = this;
    const active = document.activeElement?.id;
    const typed = this.typed();
    if (this.app.tab === "step") this.mark();
    show(this.panel, el("h2", {}, "Step through"), this.clockBar(), this.records(), this.operations(),
      el("section", { "aria-label": "Result", id: "result", tabindex: "-1" }, this.last && outcome(this.app, this.last)),
      this.waiting(), this.derived(), this.steps());
    this.restore(typed);
    if (active && document.activeElement === document.body) this.panel.querySelector("#" + CSS.escape(active))?.focus({ preventScroll: true });
  }

  /** typed is what a person has put into the form that is open. */
  typed() {
    const f = this.panel.querySelector("#form");
    return f && { operation: f.dataset.operation, more: f.querySelector("details")?.open,
      values: [...f.querySelectorAll("[data-typed]")].map((c) => [c.id, c.type === "checkbox" ? c.checked : c.value]) };
  }

  /** restore puts it into the form that was made anew: after a refusal one mends, and does not begin again. */
  restore(typed) {
    const f = this.panel.querySelector("#form");
    if (!typed || f?.dataset.operation !== typed.operation) return;
    if (typed.more) f.querySelector("details").open = true;
    for (const [id, value] of typed.values) {
      const c = f.querySelector("#" + CSS.escape(id));
      if (!c) continue;
      if (c.type === "checkbox") { c.checked = value; c.dispatchEvent(new Event("change")); } else c.value = value;
      c.dataset.typed = "";
    }
  }

  clockBar() {
    const { view, s } = this;
    const input = el("input", { type: "datetime-local", step: "1", id: "clock", value: localTime(s.now), onchange: () => this.clock(utcTime(input.value)) });
    const jump = (text, id, seconds) => el("button", { type: "button", class: "plain small", id, onclick: () => this.clock(later(s.now, seconds)) }, text);
    const due = view.deadlines.filter((d) => d.due);
    const next = view.deadlines.find((d) => !d.due);
    return el("div", { class: "clock" },
      el("label", { for: "clock" }, "Clock ", el("span", { class: "muted" }, "UTC")), input,
      el("span", { class: "jumps" }, jump("+1 s", "c1", 1), jump("+1 min", "c60", 60), jump("+1 h", "c3600", 3600),
        el("button", { type: "button", class: "plain small", id: "cnext", disabled: !next, onclick: () => this.nextDeadline() }, "Next deadline")),
      due.length > 0 && el("p", { class: "due" }, "Due now: ", due.map((d, i) => [i > 0 && ", ",
        el("button", { type: "button", class: "link", onclick: () => { s.record = d.record; this.openForm(d.operation); } }, `${d.operation} for ${d.record}`)])),
      due.length === 0 && next && el("p", { class: "muted" }, `${next.operation} for ${next.record} is due at ${clockText(next.at)}`));
  }

  records() {
    const { view, s, app } = this;
    const makers = app.machine.operations.filter((o) => o.creates);
    const now = view.records.find((r) => r.id === s.record);
    const changed = new Set((this.last?.record === s.record ? this.last.changes : []).map((c) => c.name));
    return el("section", { "aria-label": "Records", class: "records" },
      el("div", { class: "chips" },
        view.records.map((r) => el("button", { type: "button", class: "chip", id: "rec-" + r.id, "aria-pressed": String(r.id === s.record),
          onclick: () => { s.record = r.id; store(this.key, s); this.render(); } }, r.id, " ", badge(r.state, app.role(r.state)))),
        makers.map((o) => el("button", { type: "button", class: view.records.length ? "plain small" : "primary", id: "new-" + o.name, onclick: () => this.openForm(o.name) },
          makers.length > 1 || view.records.length === 0 ? `New record: ${o.name}` : "New record"))),
      view.records.length === 0 && el("p", { class: "muted" }, "No records yet. Create one, then choose an operation."),
      now && el("div", { class: "record card" },
        el("h3", {}, now.id, " ", badge(now.state, app.role(now.state)), el("span", { class: "muted" }, ` revision ${now.rev}`)),
        now.fields.length > 0 && el("dl", { class: "fields" }, now.fields.map((f) => [
          el("dt", { class: changed.has(f.name) ? "changed" : "" }, f.name), el("dd", { class: changed.has(f.name) ? "changed" : "" }, shown(f.value))]))));
  }

  operations() {
    const { view, s, app } = this;
    const now = view.records.find((r) => r.id === s.record);
    const all = app.machine.operations.filter((o) => !o.creates && !o.internal);
    const due = new Set(view.deadlines.filter((d) => d.due && d.record === s.record).map((d) => d.operation));
    const group = (title, kind, list) => list.length > 0 && el("div", { class: "group " + kind }, el("h4", {}, title),
      el("div", { class: "chips" }, list.map((o) => el("button", { type: "button", class: "op " + kind, id: "op-" + o.name, "aria-expanded": String(this.open === o.name),
        onclick: () => this.openForm(o.name) }, o.name, due.has(o.name) && el("span", { class: "tag due" }, "due"), o.by !== "caller" && el("span", { class: "muted" }, " " + o.by)))));
    const of = (kind) => all.filter((o) => now && now.cells[o.name] === kind);
    const opened = app.machine.operations.find((o) => o.name === this.open && !o.internal);
    return el("section", { "aria-label": "Operations", class: "operations" },
      now && [group("Possible in this state", "transition", of("transition")), group("Recorded only", "record_only", of("record_only")),
        group("Refused in this state", "reject", of("reject"))],
      opened && form(opened, app.machine, {
        record: opened.creates ? null : s.record, rev: now?.rev ?? 0, now: s.now, actor: s.actor,
        newRecord: this.freeId(), request: `request-${s.number + 1}`,
      }, (step) => this.add(step), () => { const id = opened.creates ? "new-" + opened.name : "op-" + opened.name; this.open = ""; this.render(); this.panel.querySelector("#" + CSS.escape(id))?.focus(); }));
  }

  freeId() {
    let n = this.view.records.length + 1;
    while (this.view.records.some((r) => r.id === "r" + n)) n++;
    return "r" + n;
  }

  waiting() {
    const { view, s } = this;
    return view.waiting.length > 0 && el("section", { "aria-label": "Effects that wait", class: "card" }, el("h3", {}, "Effects that wait"),
      el("ul", { class: "plain-list" }, view.waiting.map((x) => el("li", {}, `${x.effect} for ${x.record} at revision ${x.rev}${x.then ? ", then " + x.then : ""} `,
        el("button", { type: "button", class: "plain small", onclick: () => this.add({ deliver: true, operation: x.operation, record: x.record, rev: x.rev, n: x.n, at: s.now }) }, "It was performed"),
        x.failed && [" ", el("button", { type: "button", class: "plain small", title: `then ${x.failed} follows`, onclick: () => this.add({ deliver: true, gaveUp: "no answer", operation: x.operation, record: x.record, rev: x.rev, n: x.n, at: s.now }) }, "It gave up")]))));
  }

  derived() {
    const { view, app } = this;
    return view.derived.length > 0 && el("section", { "aria-label": "Derived", class: "card" }, el("h3", {}, "Derived: " + app.machine.derived),
      el("ul", { class: "plain-list" }, view.derived.map((d) => el("li", {}, d.key.join(", ") + ": ", badge(d.state), " ",
        el("span", { class: "muted" }, d.fields.map((f) => `${f.name} ${f.value.absent ? "absent" : f.value.text}`).join(", "))))));
  }

  steps() {
    const { view, s } = this;
    const button = (id, text, run, off, kind = "plain small") => el("button", { type: "button", class: kind, id, disabled: off, onclick: run }, text);
    return el("section", { "aria-labelledby": "steps-title", class: "steps" },
      el("div", { class: "bar" }, el("h3", { id: "steps-title" }, "Steps so far"),
        button("undo", "Undo", () => this.undo(), s.cursor === 0), button("redo", "Redo", () => this.redo(), s.cursor === s.steps.length),
        button("reset", "Reset", () => this.reset(), s.steps.length === 0),
        button("copy-session", "Copy as JSON", () => copy(this.text(), "the session"), s.cursor === 0),
        button("copy-session-test", "Copy as Go test", () => this.goTest(), s.cursor === 0)),
      el("ol", { class: "history" }, s.steps.map((step, i) => {
        const v = view.steps[i];
        return el("li", { class: i >= s.cursor ? "ahead" : "" }, el("button", { type: "button", class: "link", "aria-current": i === s.cursor - 1 ? "step" : undefined, id: "step-" + i, onclick: () => this.goTo(i + 1) },
          step.deliver ? `effect of ${step.operation} ${step.gaveUp ? "gave up" : "performed"}` : step.operation), " ",
          v ? [el("span", { class: "mark " + v.outcome }, words[v.outcome]), el("span", { class: "muted" }, ` ${v.record || ""} ${v.outcome === "refused" ? v.refusal.code : v.to}`)] : el("span", { class: "muted" }, "taken back"));
      })),
      el("details", { class: "more" }, el("summary", {}, "Load a session"), (() => {
        const t = el("textarea", { id: "paste", rows: "4", spellcheck: "false", "aria-label": "Session as JSON" });
        return [t, el("p", {}, el("button", { type: "button", class: "plain small", id: "load", onclick: () => this.paste(t.value) }, "Play it"))];
      })()));
  }
}
