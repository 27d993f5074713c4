// Uses the page of fsmgen serve as a person does, in a real Chromium.
//
//   node check.mjs FOLDER [WORD...]
//
// runs the tests whose names hold one of the words (-WORD: those that do not), with the programs fsmgen, fsmctl,
// seed and desk in the folder. Exit code 1 when one fails.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { deskTests } from "./desk.mjs";
import { accessible, eventually, folder, noScroll, open, press, root, run, serve, shot, text } from "./harness.mjs";
import { evil, kinds, outbox, small } from "./specs.mjs";

const [programs, ...words] = process.argv.slice(2);
const bin = join(programs, "fsmgen");
const lifecycle = "specs/lifecycle.yaml";
const broken = "internal/validate/testdata/FSM801/bad.yaml";

const run1 = async (page, operation, fill = {}) => {
  await page.click(`#op-${operation}, #new-${operation}`);
  if (Object.keys(fill).some((id) => ["f-request", "f-rev", "f-record"].includes(id))) await page.click("#form .more summary");
  for (const [id, value] of Object.entries(fill)) await page.fill("#" + id, value);
  const before = await page.locator(".history li:not(.ahead)").count();
  await page.click("#run");
  await page.waitForFunction((n) => document.querySelectorAll("#panel-step .history li:not(.ahead)").length === n + 1, before);
};
const outcome = (page) => text(page, "#result .mark");
const announced = (page, want) => eventually(async () => assert.match(await page.locator("#live").textContent(), want), "what is announced");
const tabNames = ["step", "states", "operations", "matrix", "check", "source"];

const tests = {
  ...deskTests(join(programs, "desk")),

  async "opens without another host, a list of machines and a picture"(t) {
    const { address } = await serve(t, bin, [lifecycle, "specs/task.yaml"]);
    const page = await open(t, address);
    await eventually(async () => assert.equal(await text(page, "h1"), "lifecycle"));
    assert.equal(await page.title(), "lifecycle · fsmgen");
    await eventually(async () => assert.equal(await page.locator("#picture .hit[data-state]").count(), 6));
    await page.click("#machines a >> text=task");
    await eventually(async () => assert.equal(await text(page, "h1"), "task"), "the other machine");
    await eventually(async () => assert.equal(await page.locator("#machines a[aria-current]").innerText(), "task"));
    await page.goBack();
    await eventually(async () => assert.equal(await text(page, "h1"), "lifecycle"), "back");
    const csp = (await page.request.get(address)).headers()["content-security-policy"];
    assert.match(csp, /default-src 'none'; script-src 'self'; style-src 'self'/);
    await page.click("#zoom");
    assert.equal(await page.getAttribute("#zoom", "aria-pressed"), "true");
    await page.click("#zoom");
    await shot(page, "light-start");
  },

  async "tells machines of one name apart by their paths"(t) {
    const dir = folder(t, { "old.yaml": small, "new.yaml": small, "mail.yaml": outbox });
    const { address } = await serve(t, bin, ["old.yaml", "new.yaml", "mail.yaml"], dir);
    const page = await open(t, address);
    await eventually(async () => assert.deepEqual(await page.locator("#machines a").allInnerTexts(), ["job old.yaml", "job new.yaml", "mail"]));
    await page.click("#machines a >> text=new.yaml");
    await eventually(async () => assert.match(await text(page, "#facts"), /new\.yaml$/));
    await accessible(page, "two machines of one name");
    await shot(page, "light-twins");
  },

  async "steps, explains a refusal, takes back and does again"(t) {
    const { address } = await serve(t, bin, [lifecycle]);
    const page = await open(t, address);
    await run1(page, "enqueue");
    await eventually(async () => assert.equal(await outcome(page), "done"));
    await run1(page, "claim_next");
    await eventually(async () => assert.match(await text(page, "#result .changes"), /owner\s+absent\s+worker-1[\s\S]*attempt\s+0\s+1/));
    await page.click("#result summary");
    await eventually(async () => assert.match(await text(page, "#result .event"), /event\s+claimed[\s\S]*actor\s+worker-1[\s\S]*request\s+request-2/));
    await eventually(async () => assert.equal(await page.locator('.hit.current').getAttribute("data-state"), "claimed"));
    await eventually(async () => assert.ok(await page.locator("path.walked").count() > 0, "the way that was taken is marked"));
    await shot(page, "light-step");
    await run1(page, "start", { "f-actor": "worker-2" });
    await eventually(async () => assert.equal(await outcome(page), "refused"));
    const why = await text(page, "#result .refusal");
    for (const want of [/Refused by a guard/, /not_owner/, /owner == actor/, /actor would have to be "worker-1", not "worker-2"/, /specs\/lifecycle\.yaml:\d+:3/, /owner_only/]) assert.match(why, want);
    await shot(page, "light-refused");
    await page.click("#result .place");
    await eventually(async () => assert.equal(await page.locator("#tab-source").getAttribute("aria-selected"), "true"));
    await eventually(async () => assert.equal(await text(page, "#source .row.here mark"), "owner_only"));
    await page.click("#tab-step");
    await page.click("#undo");
    await eventually(async () => assert.equal(await page.locator(".history li.ahead").count(), 1), "one step is taken back");
    await page.click("#undo");
    await eventually(async () => assert.equal(await text(page, ".record .badge"), "queued"), "the state before");
    await page.click("#redo");
    await eventually(async () => assert.equal(await text(page, ".record .badge"), "claimed"), "the state again");
    await page.click("#step-0");
    await eventually(async () => assert.equal(await text(page, ".record .badge"), "queued"), "the state after the first step");
    await page.click("#redo");
    await run1(page, "start");
    await eventually(async () => assert.equal(await outcome(page), "done"));
    await eventually(async () => assert.equal(await page.locator(".history li").count(), 3, "what was taken back is gone once another step is made"));
    await run1(page, "enqueue", { "f-record": "second", "f-request": "other" });
    await eventually(async () => assert.equal(await page.locator(".chip").count(), 2));
    await page.click("#rec-r1");
    await eventually(async () => assert.match(await text(page, ".record h3"), /r1 running/));
    await page.click("#reset");
    await eventually(async () => assert.equal(await page.locator(".history li").count(), 0), "an empty session");
  },

  async "knows a late worker, a repeated request and a deadline"(t) {
    const { address } = await serve(t, bin, [lifecycle]);
    const page = await open(t, address);
    await run1(page, "enqueue");
    await run1(page, "claim_next");
    await run1(page, "start", { "f-rev": "1" });
    await eventually(async () => assert.match(await text(page, "#result .refusal"), /stale[\s\S]*the record is at revision 2, but the call expects revision 1/));
    await page.click("text=Cancel");
    await run1(page, "start", { "f-request": "once" });
    await run1(page, "start", { "f-request": "once" });
    await eventually(async () => assert.equal(await outcome(page), "replayed"));
    await run1(page, "claim_next");
    await eventually(async () => assert.match(await text(page, "#result .refusal"), /nothing_to_do[\s\S]*r1: it is running/));
    await page.click("#cnext");
    await announced(page, /The clock shows 2026-01-01 09:01:01/);
    await eventually(async () => assert.match(await text(page, ".clock .due"), /stall for r1/));
    await page.click(".clock .due button");
    await page.click("#run");
    await eventually(async () => assert.equal(await text(page, ".record .badge"), "stalled"), "the job is stalled");
    await page.fill("#clock", "2027-05-06T07:08:09");
    await page.locator("#clock").blur();
    await announced(page, /The clock shows 2027-05-06 07:08:09/);
    for (const [id, want] of [["c1", "07:08:10"], ["c60", "07:09:10"], ["c3600", "08:09:10"]]) {
      await page.click("#" + id);
      await announced(page, new RegExp("2027-05-06 " + want));
    }
  },

  async "makes a form of every kind of input, and takes no text for HTML"(t) {
    const dir = folder(t, { "kinds.yaml": kinds });
    const { address } = await serve(t, bin, [join(dir, "kinds.yaml")]);
    const page = await open(t, address);
    await eventually(async () => assert.ok((await text(page, "#doc")).includes(evil), "the text of the machine is shown as it is"));
    await page.click("#new-make");
    await eventually(async () => assert.deepEqual(await page.locator("#f-in-level option").allTextContents(), ["low", "high", "none_at_all"]));
    assert.equal(await page.getAttribute("#f-in-size", "max"), "9");
    assert.equal(await page.inputValue("#f-in-until"), "2026-01-01T09:01"); // and no seconds
    assert.equal(await page.isDisabled("#f-in-hint"), true);
    await shot(page, "light-form");
    await page.check('[aria-label="send hint"]');
    await page.fill("#f-in-hint", evil);
    await page.fill("#f-in-title", evil);
    await page.fill("#f-in-size", "10");
    await page.fill("#f-in-tags", `b\n${evil}\nb`);
    await page.fill("#f-in-notes", `{"a": "${"<b>"}"}`);
    await page.selectOption("#f-in-level", "high");
    await page.selectOption("#f-in-urgent", "true");
    await page.click("#form .more summary");
    await page.fill("#f-record", evil);
    await page.click("#run");
    await eventually(async () => assert.match(await text(page, "#result .refusal"), /size: 10 is more than 9/), "a bound");
    await page.fill("#f-in-size", "9"); // the form is still there, filled
    assert.equal(await page.inputValue("#f-in-title"), evil);
    await page.click("#run");
    await eventually(async () => assert.equal(await outcome(page), "done"), "the creation");
    const record = await text(page, ".record");
    assert.equal(record.split(evil).length - 1, 4, "id, title, tags and hint stand there as they are");
    await run1(page, "close", { "f-in-least": "10" });
    await eventually(async () => assert.ok((await text(page, "#result .refusal")).includes(evil), "the message of a guard"));
    await eventually(async () => assert.match(await text(page, "#result .refusal"), /size >= input\.least must hold, but size is 9, input\.least is 10/));
    await page.click("text=Cancel");
    await page.click("#op-force");
    assert.equal(await page.inputValue("#f-reason"), "by hand");
    await page.fill("#f-reason", "");
    await page.click("#run");
    await eventually(async () => assert.match(await text(page, "#result .refusal"), /reason_missing/), "an operator without a reason");
    for (const name of tabNames) {
      await page.click("#tab-" + name);
      await eventually(async () => assert.equal(await page.locator("img").count(), 0, name));
    }
    await page.hover("#picture .hit >> nth=0");
    assert.equal(await page.evaluate(() => window.hacked), undefined, "nothing of the text has run");
    await page.click("#tab-step");
    await shot(page, "light-hostile");
  },

  async "performs effects, and names what is in the way"(t) {
    const dir = folder(t, { "mail.yaml": outbox });
    const { address } = await serve(t, bin, [join(dir, "mail.yaml")]);
    const page = await open(t, address);
    await run1(page, "write");
    await eventually(async () => assert.equal(await page.locator("#op-done").count(), 0, "what follows an effect cannot be called"));
    await run1(page, "send");
    await page.click("text=It was performed");
    await eventually(async () => assert.equal(await text(page, ".record .badge"), "sent"), "the step that follows");
    await run1(page, "write");
    await eventually(async () => assert.match(await text(page, "#result .refusal"), /known[\s\S]*no other record may have the same address[\s\S]*In the way: r1/));
  },

  async "copies a session and plays it again"(t) {
    const { address } = await serve(t, bin, [lifecycle]);
    const page = await open(t, address);
    await run1(page, "enqueue");
    await run1(page, "claim_next");
    await page.click("#copy-session");
    await announced(page, /the session was copied/);
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    assert.equal(JSON.parse(copied).steps.length, 2);
    await page.click("#copy-session-test");
    await announced(page, /a Go test of 2 steps was copied/);
    const test = await page.evaluate(() => navigator.clipboard.readText());
    assert.match(test, /^package lifecycle\n[\s\S]*func TestSession\(t \*testing\.T\)[\s\S]*Do: "claim_next"[\s\S]*Leads: "accepted", Is: map\[string\]string\{"r1": "claimed@2"\}/);
    for (const scheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme: scheme });
      await shot(page, scheme + "-session");
      await page.setViewportSize({ width: 360, height: 740 });
      await noScroll(page, "the session at 360");
      await shot(page, scheme + "-narrow-session");
      await page.setViewportSize({ width: 1360, height: 900 });
    }
    await page.reload();
    await page.waitForSelector("html[data-ready]");
    await eventually(async () => assert.equal(await page.locator(".history li").count(), 2, "the session survives the page"));
    await page.click("#reset");
    await page.click("#panel-step >> text=Load a session");
    await page.fill("#paste", "no JSON");
    await page.click("#load");
    await announced(page, /that is no JSON/);
    await page.fill("#paste", copied);
    await page.click("#load");
    await eventually(async () => assert.equal(await text(page, ".record .badge"), "claimed"), "the same state");
  },

  async "points at states and operations with the mouse and with keys"(t) {
    const { address } = await serve(t, bin, [lifecycle]);
    const page = await open(t, address);
    await page.click('.hit[data-state="running"]');
    await eventually(async () => assert.equal(await page.locator("#tab-states").getAttribute("aria-selected"), "true"));
    assert.equal(await page.evaluate(() => document.activeElement.id), "state-running");
    await page.click('.hit[data-operation="complete"]');
    assert.equal(await page.evaluate(() => document.activeElement.id), "operation-complete");
    await page.click("#operation-complete >> text=Step with it");
    await eventually(async () => assert.equal(await text(page, "#form-title"), "complete"));
    await page.click("#form >> text=Cancel");
    await page.evaluate(() => document.activeElement.blur());
    await press(page, "p");
    const at = () => page.evaluate(() => document.activeElement.dataset.state ?? document.activeElement.dataset.operation);
    const seen = new Set();
    for (const key of ["Home", "ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight", "ArrowUp", "ArrowLeft", "End"]) {
      await press(page, key);
      seen.add(await at());
    }
    assert.ok(seen.size >= 7, `arrow keys lead to ${[...seen].join(", ")}`);
    await eventually(async () => assert.equal(await page.locator('.hit[tabindex="0"]').count(), 1, "the picture is one stop of the Tab key"));
    assert.ok(await page.evaluate(() => parseFloat(getComputedStyle(document.activeElement).strokeWidth) >= 3), "focus in the picture is seen");
    await press(page, "Enter");
    assert.notEqual(await page.evaluate(() => document.activeElement.classList.contains("hit")), true);
  },

  async "is used with keys alone"(t) {
    const { address } = await serve(t, bin, [lifecycle]);
    const page = await open(t, address);
    await press(page, "Tab");
    assert.match(await page.evaluate(() => document.activeElement.textContent), /Skip/);
    await press(page, "Enter");
    await press(page, "n");
    await eventually(async () => assert.equal(await text(page, "#form-title"), "enqueue"));
    await press(page, "Escape");
    await eventually(async () => assert.equal(await page.locator("#form").count(), 0));
    assert.equal(await page.evaluate(() => document.activeElement.id), "new-enqueue");
    await press(page, "n", "Enter");
    await eventually(async () => assert.equal(await outcome(page), "done"), "made by Enter");
    assert.equal(await page.evaluate(() => document.activeElement.id), "result", "the result has the focus");
    await press(page, "o");
    assert.equal(await page.evaluate(() => document.activeElement.id), "op-claim_next");
    await press(page, "Enter", "Enter");
    await eventually(async () => assert.equal(await text(page, ".record .badge"), "claimed"), "claimed by Enter");
    await press(page, "t");
    await announced(page, /The clock shows/);
    await press(page, "u");
    await eventually(async () => assert.equal(await text(page, ".record .badge"), "queued"), "u takes back");
    await press(page, "r");
    await eventually(async () => assert.equal(await text(page, ".record .badge"), "claimed"), "r does again");
    await press(page, "Control+z");
    await eventually(async () => assert.equal(await text(page, ".record .badge"), "queued"), "Ctrl+Z takes back");
    await press(page, "Control+y");
    await eventually(async () => assert.equal(await text(page, ".record .badge"), "claimed"), "Ctrl+Y does again");
    await press(page, "4");
    assert.equal(await page.evaluate(() => document.activeElement.id), "tab-matrix");
    await press(page, "ArrowRight");
    await eventually(async () => assert.equal(await page.locator("#tab-check").getAttribute("aria-selected"), "true"));
    await press(page, "Home", "ArrowLeft");
    assert.equal(await page.evaluate(() => document.activeElement.id), "tab-source");
    await press(page, "?");
    assert.ok(await page.locator("#help").evaluate((d) => d.open));
    await shot(page, "light-keys", false);
    await accessible(page, "the list of keys");
    await page.uncheck("#help-single");
    await press(page, "Escape");
    await press(page, "1");
    await eventually(async () => assert.equal(await page.locator("#tab-source").getAttribute("aria-selected"), "true", "keys without Ctrl are off"));
    // Every stop of the Tab key can be seen.
    await page.click("#tab-step");
    await page.evaluate(() => document.body.focus());
    const blind = [];
    for (let i = 0; i < 40; i++) {
      await press(page, "Tab");
      const e = await page.evaluate(() => {
        const a = document.activeElement, s = getComputedStyle(a), r = a.getBoundingClientRect();
        return { body: a === document.body, name: a.id || a.textContent.slice(0, 20), seen: (s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 2) || parseFloat(s.strokeWidth) >= 3, size: r.width * r.height };
      });
      if (!e.body && (!e.seen || e.size === 0)) blind.push(e.name);
    }
    assert.deepEqual(blind, [], "stops without a visible focus");
  },

  async "searches, and walks through a counterexample"(t) {
    const { address } = await serve(t, bin, [broken, lifecycle]);
    const page = await open(t, address);
    await page.click("#tab-check");
    await page.click("#check-run");
    await page.waitForSelector("#trace-steps");
    await eventually(async () => assert.match(await text(page, "#panel-check .outcome h3"), /applied 2 times/));
    const n = await page.locator("#trace-steps li").count();
    assert.ok(n >= 3);
    await page.click("#trace-on");
    await eventually(async () => assert.match(await text(page, "#panel-check .outcome"), new RegExp(`step 2 of ${n}`)));
    const state = await page.locator(".hit.current").getAttribute("data-state");
    await eventually(async () => assert.match(await text(page, "#panel-check .card"), new RegExp(state)));
    await press(page, "ArrowDown", "End");
    await eventually(async () => assert.equal(await page.locator("#trace-on").isDisabled(), true));
    await press(page, "k", "k", "j");
    await eventually(async () => assert.match(await text(page, "#panel-check .outcome"), new RegExp(`step ${n - 1} of ${n}`)));
    await page.click("#trace-back");
    await shot(page, "light-trace");
    await page.click("#copy-test");
    assert.match(await page.evaluate(() => navigator.clipboard.readText()), /func TestModelTrace/);
    await accessible(page, "a counterexample");
    await page.fill("#b-records", "99");
    await page.click("#check-run");
    await announced(page, /the bound of records is 99; write a number from 1 to 8/);
    page.expectedErrors.push(/status of 400/);
    await page.click("#machines a >> text=lifecycle");
    await eventually(async () => assert.equal(await text(page, "h1"), "lifecycle"), "the sound machine");
    await page.fill("#b-records", "2");
    await page.click("#check-run");
    await eventually(async () => assert.match(await text(page, "#panel-check .outcome"), /Every promise holds within the bounds[\s\S]*records 2/), "no counterexample");

    // A long one is stopped, gives way to another one, and goes with the page.
    const long = async () => {
      for (const [name, n] of [["records", 8], ["groups", 8], ["workers", 8], ["counter", 100], ["maxStates", 2000000]]) await page.fill("#b-" + name, String(n));
      await page.click("#check-run");
      await page.waitForSelector("#check-stop");
    };
    await long();
    await accessible(page, "a search that runs");
    await page.click("#check-stop");
    await announced(page, /The search was stopped/);
    await eventually(async () => assert.equal(await page.locator("#check-stop").count(), 0));
    assert.equal(await page.evaluate(() => document.activeElement.id), "check-run");
    await long();
    await page.fill("#b-records", "1");
    await page.fill("#b-maxStates", "1000");
    await page.click("#check-run");
    await eventually(async () => assert.match(await text(page, "#panel-check .outcome"), /records 1/), "the search that came last");
    await long();
    await page.reload();
    await page.waitForSelector("html[data-ready]");
    await page.click("#tab-check");
    await page.click("#check-run");
    await eventually(async () => assert.match(await text(page, "#panel-check .outcome"), /Every promise holds within the bounds/), "a search after the page was loaded again");
  },

  async "follows changes of the file and keeps what still goes"(t) {
    const dir = folder(t, { "job.yaml": small });
    const file = join(dir, "job.yaml");
    const { address } = await serve(t, bin, [file]);
    const page = await open(t, address);
    await run1(page, "make");
    await run1(page, "take");
    await run1(page, "close");
    writeFileSync(file, small.replace("otherwise: reject", "doc: Another text.\notherwise: reject"));
    await eventually(async () => assert.equal(await text(page, "#doc"), "Another text."), "the new text");
    await eventually(async () => assert.equal(await page.locator(".history li:not(.ahead)").count(), 3), "the session is kept");
    await eventually(async () => assert.equal(await text(page, ".record .badge"), "shut"), "the record of the session");
    writeFileSync(file, small.replace("close: {from: busy", "drop: {from: busy, to: shut, clear: [owner]}\n  close: {from: open"));
    await announced(page, /Kept 2 of 3 steps: step 3, close, was done and is now refused/);
    await eventually(async () => assert.equal(await text(page, ".record .badge"), "busy"));
    writeFileSync(file, small.replace("to: shut", "to: shutt"));
    await eventually(async () => assert.match(await text(page, "#findings"), /state "shutt" is not declared/), "the finding");
    await eventually(async () => assert.ok(await page.locator("#picture.stale[inert] svg").isVisible(), "the last picture is kept, dimmed"));
    await shot(page, "light-broken");
    writeFileSync(file, small);
    await eventually(async () => assert.equal(await page.locator("#picture:not(.stale):not([inert]) svg").count(), 1), "a valid file has its picture again");
    writeFileSync(file, small.replace("to: shut", "to: shutt"));
    await page.locator("#findings .finding").waitFor();
    await eventually(async () => assert.match(await text(page, "#findings .excerpt"), /job\.yaml:13:27[\s\S]*close: \{from: busy, to: shutt/));
    await eventually(async () => assert.equal(await text(page, "#findings mark"), "shutt"));
    await eventually(async () => assert.match(await text(page, "#machines"), /1 error/));
    await accessible(page, "findings");
    await shot(page, "light-findings");
    await page.click("#findings .place");
    await eventually(async () => assert.equal(await text(page, "#source .row.here mark"), "shutt"));
    writeFileSync(file, small.replace("take:", "grab:"));
    await announced(page, /Kept 1 of 2 steps: step 2: the machine has no operation "take"/);
    await eventually(async () => assert.equal(await text(page, ".record .badge"), "open"));
  },

  async "shows the tables at once, and the picture when it is ready"(t) {
    const { address } = await serve(t, bin, [lifecycle, "specs/task.yaml"]);
    const page = await open(t, address);
    await page.locator("#picture .hit").first().waitFor();
    let ready;
    const gate = new Promise((resolve) => { ready = resolve; });
    await page.route("**/picture.svg*", async (r) => { await gate; await r.continue(); });
    await page.click("#machines a >> text=task");
    await eventually(async () => assert.equal(await text(page, "h1"), "task"));
    await page.click("#tab-states");
    await page.locator("#state-pending").waitFor();
    assert.equal(await page.getAttribute("#picture", "aria-busy"), "true");
    assert.match(await text(page, "#picture"), /Drawing the picture/);
    await page.click("#machines a >> text=lifecycle"); // and what comes late is not shown
    await eventually(async () => assert.equal(await text(page, "h1"), "lifecycle"));
    ready();
    await eventually(async () => assert.equal(await page.locator("#picture .hit[data-state]").count(), 6), "the picture of the machine that is shown");
    assert.equal(await page.getAttribute("#picture", "aria-busy"), null);
  },

  async "says so when the file is gone, and when it is back"(t) {
    const dir = folder(t, { "job.yaml": small });
    const file = join(dir, "job.yaml");
    const { address } = await serve(t, bin, [file]);
    const page = await open(t, address);
    const gone = /job\.yaml is gone\. Put it back, or start the command again/;
    rmSync(file);
    await eventually(async () => assert.equal(await text(page, "#link"), "file cannot be read"));
    assert.match(await page.getAttribute("#link", "class"), /\boff\b/);
    await announced(page, gone);
    assert.match(await text(page, "#gone"), gone);
    assert.ok(await page.locator("#columns").isVisible(), "the last version stays");
    writeFileSync(file, small);
    await eventually(async () => assert.equal(await text(page, "#link"), "live"), "the file is back");
    assert.match(await page.getAttribute("#link", "class"), /\bon\b/);
    assert.ok(!await page.locator("#gone").isVisible(), "all is well");
    rmSync(file);
    page.expectedErrors.push(/503/);
    await page.reload();
    await eventually(async () => assert.match(await text(page, "#gone"), gone), "a page that is opened without the file");
    assert.equal(await text(page, "h1"), "job");
    assert.ok(!await page.locator("#columns").isVisible(), "there is nothing to show");
    await accessible(page, "a file that is gone");
    await shot(page, "light-gone");
    writeFileSync(file, small);
    await eventually(async () => assert.equal(await page.locator("#picture .hit[data-state]").count(), 3), "the file is shown when it is back");
    assert.ok(!await page.locator("#gone").isVisible(), "all is well again");
  },

  async "says so when the server is gone"(t) {
    const { address, stop } = await serve(t, bin, [lifecycle]);
    const page = await open(t, address);
    page.expectedErrors.push(/ERR_|Failed to load/);
    assert.equal(await stop(), 0, "an open page does not keep it from ending");
    await eventually(async () => assert.equal(await text(page, "#link"), "not connected"), "the state of the connection");
    await page.click("#new-enqueue");
    await page.click("#run");
    await announced(page, /does not answer/);
  },

  async "fits a narrow window, light and dark, and axe-core finds nothing serious"(t) {
    const { address } = await serve(t, bin, ["specs/execution.yaml", lifecycle, "specs/ingest.yaml"]);
    for (const scheme of ["light", "dark"]) {
      const page = await open(t, address + "#1", { colorScheme: scheme });
      await run1(page, "enqueue");
      await run1(page, "claim_next");
      await run1(page, "start", { "f-actor": "worker-2" });
      const colour = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      assert.equal(colour, scheme === "light" ? "rgb(255, 255, 255)" : "rgb(20, 24, 31)");
      const box = await page.evaluate(() => getComputedStyle(document.querySelector(".fsmgen .page")).fill);
      assert.equal(box, colour, "the picture follows");
      for (const name of tabNames) {
        await page.click("#tab-" + name);
        await accessible(page, `${name}, ${scheme}`);
        if (scheme === "dark" || name !== "step") await shot(page, `${scheme}-${name}`);
      }
      await page.setViewportSize({ width: 360, height: 740 });
      for (const name of tabNames) {
        await page.click("#tab-" + name);
        await noScroll(page, `${name} at 360`);
        if (name === "step" || name === "matrix") await accessible(page, `${name}, ${scheme}, 360`);
        await shot(page, `${scheme}-narrow-${name}`, name !== "source");
      }
      await page.click("#tab-step");
      await run1(page, "heartbeat"); // it works there, too
      await eventually(async () => assert.equal(await outcome(page), "done"));
      for (const i of [0, 2]) {
        await page.goto(address + "#" + i);
        await eventually(async () => assert.notEqual(await text(page, "h1"), "lifecycle"), "another machine");
        await noScroll(page, "machine " + i);
      }
      await page.setViewportSize({ width: 1360, height: 900 });
      await shot(page, scheme + "-ingest");
    }
  },

  async "shows what a database holds, and writes nothing"(t) {
    const file = join(folder(t, {}), "jobs.db");
    execFileSync(join(programs, "seed"), [file]);
    const before = readFileSync(file);
    const { address } = await serve(t, join(programs, "fsmctl"), [lifecycle, "specs/task.yaml", "--db", file]);
    const at = new URL("db/database/lifecycle/", address).href;
    for (const scheme of ["light", "dark"]) {
      const page = await open(t, address, { colorScheme: scheme });
      const written = [];
      page.on("request", (r) => { if (r.method() !== "GET") written.push(r.method() + " " + r.url()); });
      const content = () => text(page, "main");
      await page.click("#database a");
      await eventually(async () => assert.match(await content(), /queued\s+3[\s\S]*running\s+1[\s\S]*succeeded\s+1[\s\S]*does not hold the machine task/), "all machines");
      await page.click("main a.name >> text=lifecycle");
      await eventually(async () => assert.match(await content(), /stall\s+lease\s+1/), "what is late");
      await accessible(page, "console, overview, " + scheme);
      await shot(page, scheme + "-console-overview");
      await page.click('.picture a[href="records?state=succeeded"]'); // the picture leads to the records
      await eventually(async () => assert.match(await content(), /job-1\s+breaks a rule\s+succeeded/));
      assert.ok(await page.isChecked('input[name="state"][value="succeeded"]'));
      await accessible(page, "console, records, " + scheme);
      await page.click("main table a >> text=job-1");
      await eventually(async () => assert.match(await content(), /succeeded\s+since[\s\S]*complete[\s\S]*bytes[\s\S]*claim_next[\s\S]*by w1[\s\S]*made as/), "what happened");
      assert.equal(await page.locator("ol.line > li").count(), 4);
      await accessible(page, "console, record, " + scheme);
      await shot(page, scheme + "-console-record");
      await page.click("ol.line a >> text=revision 2");
      await eventually(async () => assert.match(await content(), /This is revision 2, of 4[\s\S]*claimed\s+since/), "as it was");
      await page.fill("#find", evil);
      await press(page, "Enter");
      await eventually(async () => assert.ok((await content()).includes(evil)), "an id that is no HTML");
      assert.equal(await page.locator("img").count(), 0);
      assert.equal(await page.evaluate(() => window.hacked), undefined);
      await page.click(".top nav a >> text=Audit");
      await page.click("main button");
      await eventually(async () => assert.match(await content(), /1 findings[\s\S]*job-1[\s\S]*result/), "the audit");
      for (const [path, want] of [["late", /job-2\s+running/], ["times", /last hour/], ["log", /job-1/]]) {
        await page.goto(at + path);
        assert.match(await content(), want);
        await accessible(page, `console, ${path}, ${scheme}`);
      }
      await page.setViewportSize({ width: 360, height: 740 });
      for (const path of ["", "records", "record?id=job-1", "late", "times", "log", "audit", "../../"]) {
        await page.goto(at + path);
        await noScroll(page, `the console's ${path} at 360`);
      }
      await page.goto(at);
      await shot(page, scheme + "-narrow-console");
      await page.setViewportSize({ width: 320, height: 256 }); // 1 280 × 1 024 at 400 %
      await noScroll(page, "the console at 400 %");
      page.expectedErrors.push(/status of 502/, /status of 404/);
      await page.goto(new URL("db/database/task/", address).href);
      await eventually(async () => assert.match(await content(), /does not hold the machine task/), "another machine");
      await page.goto(at + "record?id=nobody");
      assert.match(await content(), /has no record/);
      assert.deepEqual(written, []);
    }
    assert.ok(before.equals(readFileSync(file)), "the file is what it was");
  },

  async "is still where that is asked for"(t) {
    const { address } = await serve(t, bin, [lifecycle]);
    const page = await open(t, address, { reducedMotion: "reduce" });
    assert.deepEqual(await page.evaluate(() => [...document.querySelectorAll("*")].filter((e) => getComputedStyle(e).transitionDuration !== "0s" || getComputedStyle(e).animationName !== "none").length), 0);
  },

  async "steps through every machine of the repository"(t) {
    const files = ["specs", "examples/machines"].flatMap((dir) => readdirSync(join(root, dir)).filter((n) => n.endsWith(".yaml")).map((n) => `${dir}/${n}`));
    assert.ok(files.length >= 14);
    const { address } = await serve(t, bin, files);
    const page = await open(t, address);
    for (const [i, file] of files.entries()) {
      await page.goto(address + "#" + i);
      const name = readFileSync(join(root, file), "utf8").match(/^machine: (\w+)/m)[1];
      await eventually(async () => assert.equal(await text(page, "h1"), name), file);
      await page.waitForSelector("#panel-step .records button.primary");
      await page.click("#panel-step .records button.primary >> nth=0");
      await page.click("#run");
      await eventually(async () => assert.equal(await outcome(page), "done"), `${name}: the creation with what the form offers`);
      for (const id of await page.locator("#panel-step .op").evaluateAll((all) => all.map((e) => e.id))) {
        await page.click("#" + id);
        await page.click("#run");
        await page.waitForFunction((op) => document.querySelector("#result h3")?.textContent.includes(op), id.slice(3));
        await page.click("#undo");
        await page.waitForFunction(() => document.querySelectorAll(".history li:not(.ahead)").length === 1);
      }
    }
  },
};

process.exitCode = (await run(tests, words)) > 0 ? 1 : 0;
