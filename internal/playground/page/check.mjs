// Uses the playground as a person does, in a real Chromium, from a plain file server.
//
//   node check.mjs FSMGEN
//
// FSMGEN is the native command. Before that the programs run under Node, and what they
// answer must be, byte for byte, what the command prints. Exit code 1 when something fails.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { chromium } from "playwright-core";

const fsmgen = process.argv[2], here = fileURLToPath(new URL(".", import.meta.url)), site = join(here, "public");
const five = ["execution", "ingest", "jobstate", "lifecycle", "task"];
const text = (name) => readFileSync(join(site, "examples", name + ".yaml"), "utf8");
const dir = mkdtempSync(join(tmpdir(), "playground-"));
process.on("exit", () => rmSync(dir, { recursive: true, force: true }));
const run = (...args) => {
  try { return execFileSync(fsmgen, args, { cwd: dir, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"], maxBuffer: 1 << 27 }); } catch (e) { if (e.stdout === undefined) throw e; return e.stdout; }
};

// ---- under Node

await import(join(execFileSync(process.env.GO || "go", ["env", "GOROOT"], { encoding: "utf8" }).trim(), "lib/wasm/wasm_exec.js"));
async function program(name) {
  const go = new globalThis.Go();
  const { instance } = await WebAssembly.instantiate(gunzipSync(readFileSync(join(site, name + ".wasm.gz"))), go.importObject);
  delete globalThis.fsmgen;
  go.run(instance);
  const ask = globalThis.fsmgen;
  assert.equal(typeof ask, "function");
  return (question, request = "") => { const a = ask(question, request); if (a instanceof Error) throw a; return a; };
}
const broken = text("task").replace("machine: task", "machine: broken").replace("otherwise: reject", "otherwise: rejectt");
assert.notEqual(broken, text("task"));
writeFileSync(join(dir, "broken.yaml"), broken);
const first = await program("first"), second = await program("second");
let bytes = 0;
const same = (got, want, what) => { assert.equal(got, want, what); bytes += got.length; };
for (const name of [...five, "broken"]) {
  const file = name + ".yaml", spec = name === "broken" ? broken : text(name);
  writeFileSync(join(dir, file), spec);
  first("text", file + "\n" + spec);
  second("text", file + "\n" + spec);
  for (const ask of [first, second]) same(ask("report"), run("check", file), `check ${file}`);
  if (name === "broken") continue;
  for (const format of ["mermaid", "mermaid-flow", "dot", "svg"]) same(first("diagram", format + " normal"), run("diagram", "-q", "--format", format, "--detail", "normal", file), `diagram ${file} as ${format}`);
  for (const dialect of ["sqlite", "postgres"]) same(second("sql", dialect), run("sql", "--dialect", dialect, file), `sql ${file} for ${dialect}`);
  run("gen", "-q", file);
  const made = JSON.parse(second("gen"));
  assert.deepEqual(made.map((f) => f.name).sort(), readdirSync(join(dir, name)).sort(), `files of ${file}`);
  for (const f of made) same(f.text, readFileSync(join(dir, name, f.name), "utf8"), `gen ${file}: ${f.name}`);
  const older = spec.replace(/^version: .*\n/m, "").replace(/(\n {2}\w+:\n? *)terminal: true/, "$1final: true");
  writeFileSync(join(dir, "old.yaml"), older);
  same(second("diff", "old.yaml\n" + older), run("diff", "old.yaml", file), `diff ${file}`);
}
for (const hostile of ["", "\n", "x\n\0", "x.yaml\n" + "a: [".repeat(9000), "x.yaml\nfsm: 1\nmachine: \ud800"]) first("text", hostile);
console.log(`the programs answer what the command prints: ${bytes} bytes of ${five.length} machines and a broken one`);

// ---- in Chromium

const types = { ".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml", ".json": "application/json" };
const server = createServer((req, res) => {
  const path = join(site, new URL(req.url, "http://x").pathname.replace(/\/$/, "/index.html"));
  if (!path.startsWith(site) || !existsSync(path) || statSync(path).isDirectory()) { res.writeHead(404).end(); return; }
  res.writeHead(200, { "content-type": types[extname(path)] ?? "application/octet-stream" }).end(readFileSync(path));
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const base = `http://127.0.0.1:${server.address().port}/`;
const executablePath = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((p) => p && existsSync(p));
if (!executablePath) throw new Error("no Chromium found; install it (apt-get install chromium) or set CHROMIUM to its path");
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
mkdirSync(join(here, "shots"), { recursive: true });
const wrong = [];
async function open(address = "", options = {}, slow = 1) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, permissions: ["clipboard-read", "clipboard-write"], ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(20000);
  page.on("pageerror", (e) => wrong.push("error: " + e.message));
  page.on("console", (m) => { if ((m.type() === "error" || m.type() === "warning") && !m.location().url.endsWith("/icon.svg")) wrong.push(`console: ${m.text()} (${m.location().url})`); });
  page.on("request", (r) => { if (!/^(blob:|data:)/.test(r.url()) && !r.url().startsWith(base)) wrong.push("asked " + r.url()); });
  if (slow > 1) await (await context.newCDPSession(page)).send("Emulation.setCPUThrottlingRate", { rate: slow });
  await page.goto(base + address);
  return page;
}
const ready = (page, after = 0) => page.waitForFunction((n) => Number(document.documentElement.dataset.ready) > n, after);
const version = (page) => page.evaluate(() => Number(document.documentElement.dataset.ready));
const shot = (page, name) => page.screenshot({ path: join(here, "shots", name + ".png") });
const accessible = async (page, what) => {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  assert.deepEqual(violations.map((v) => `${v.id}: ${v.nodes.slice(0, 2).map((n) => n.target.join(" ") + " " + (n.failureSummary ?? "").replace(/\s+/g, " ")).join("; ")}`), [], `axe-core on ${what}`);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${what} is no wider than the window`);
};
const setText = (page, spec) => page.evaluate((t) => { const v = document.querySelector(".cm-content").cmTile?.view ?? document.querySelector(".cm-content").cmView.view; v.dispatch({ changes: { from: 0, to: v.state.doc.length, insert: t } }); }, spec);
const getText = (page) => page.evaluate(() => { const v = document.querySelector(".cm-content").cmTile?.view ?? document.querySelector(".cm-content").cmView.view; return v.state.doc.toString(); });

// The first picture, with the processor slowed down four times.
const slow = await open("", {}, 4);
await slow.waitForSelector("#picture svg");
const firstPicture = await slow.evaluate(() => Math.round(performance.now()));
await slow.context().close();

// The five machines: shown, changed, stepped through.
const page = await open();
await ready(page);
const times = {};
for (const name of five) {
  const before = await version(page);
  await page.selectOption("#example", name);
  await ready(page, before);
  assert.equal(await page.innerText("h1"), name);
  await page.waitForSelector("#picture svg");
  const own = await page.evaluate(() => document.querySelectorAll("#picture .hit[data-state]").length);
  assert.ok(own > 1, `${name} has ${own} states in its picture`);
  assert.equal(await page.locator("#verdict").innerText(), "no errors, every rule proven");
  const all = [];
  for (let i = 0; i < 3; i++) {
    const n = await version(page);
    await setText(page, text(name) + `# ${i}\n`);
    await ready(page, n);
    all.push(await page.evaluate(() => Number(document.documentElement.dataset.shown)));
  }
  times[name] = Math.min(...all);
  const changed = await version(page);
  await page.click("#reset");
  await ready(page, changed);
}

// Steps, and a refusal that is explained.
await page.selectOption("#example", "lifecycle");
await page.waitForFunction(() => document.querySelector("h1").textContent === "lifecycle" && document.querySelector("#new-enqueue"));
await page.click("#new-enqueue");
await page.click("#run");
await page.click("#op-claim_next");
await page.click("#run");
await page.click("#op-start");
await page.fill("#f-actor", "somebody");
await page.click("#run");
await page.waitForSelector("#result .refusal");
assert.match(await page.innerText("#result .refusal"), /Refused by a guard[\s\S]*actor would have to be "worker-1"/);
await shot(page, "light-step");
await page.click("#copy-session-test");
await page.waitForFunction(() => /Go test of/.test(document.getElementById("live").textContent));
assert.match(await page.evaluate(() => navigator.clipboard.readText()), /^package lifecycle\n[\s\S]*fsmcases/);
await page.click("#result .place");
assert.ok(await page.evaluate(() => document.activeElement.closest("#editor")), "a place leads into the editor");

// The model checker, Go, SQL, what the commands print, and what a change breaks.
await page.click("#tab-check");
await page.click("#check-run");
await page.waitForSelector("#panel-check .mark.accepted");
await page.click("#tab-go");
await page.waitForSelector("#panel-go .cm-content");
assert.match(await page.innerText("#panel-go .cm-content"), /Code generated by fsmgen/);
await accessible(page, "generated Go");
await shot(page, "light-go");
const saved = page.waitForEvent("download");
await page.click("#go-all");
const archive = join(dir, "all.tar.gz");
await (await saved).saveAs(archive);
execFileSync("tar", ["-xzf", archive, "-C", dir, "--one-top-level=unpacked"]);
assert.deepEqual(readdirSync(join(dir, "unpacked/lifecycle")).sort(), readdirSync(join(dir, "lifecycle")).sort());
await page.click("#tab-sql");
await page.waitForSelector("#panel-sql .cm-content");
await page.click("#tab-report");
await page.waitForFunction(() => /lifecycle.yaml: ok/.test(document.querySelector("#report-text")?.textContent));
let n = await version(page);
await setText(page, text("lifecycle").replace("expected_rev: required", "expected_rev: none"));
await ready(page, n);
await page.click("#tab-diff");
await page.waitForFunction(() => /expected_rev/.test(document.querySelector("#diff-text")?.textContent));
await shot(page, "light-diff");

// A broken machine: what is wrong is underlined, and one key mends it.
n = await version(page);
await setText(page, broken);
await ready(page, n);
await page.waitForSelector("#findings .finding.error");
assert.match(await page.innerText("#findings"), /rejectt/);
await page.waitForSelector(".cm-lintRange-error");
await page.waitForSelector("#findings .fix");
await accessible(page, "a broken machine");
await shot(page, "light-broken");
n = await version(page);
await page.click("#findings .fix");
await ready(page, n);
assert.equal(await page.locator("#verdict").innerText(), "no errors, every rule proven");
assert.match(await getText(page), /otherwise: reject\s/);

// Completion of keys, values and names.
const completed = async (from, typed, want) => {
  const k = await version(page);
  await setText(page, from);
  await ready(page, k);
  await page.evaluate(() => { const v = document.querySelector(".cm-content").cmTile?.view ?? document.querySelector(".cm-content").cmView.view; v.dispatch({ selection: { anchor: v.state.doc.length } }); v.focus(); });
  await page.keyboard.type(typed);
  await page.waitForSelector(".cm-tooltip-autocomplete li");
  assert.ok((await page.locator(".cm-tooltip-autocomplete li").allInnerTexts()).some((t) => t.includes(want)), `${want} is offered after ${typed}`);
  await page.keyboard.press("Escape");
};
await completed(text("job"), "state_g", "state_groups");
await completed(text("job") + "  again:\n", "    requ", "require");
await completed(text("job") + "  again:\n    by: ", "oper", "operator");
await completed(text("job") + "  again:\n    from: ", "wai", "waiting");

// A link holds the machine, and is opened elsewhere without a server.
const shared = text("task").replace("machine: task", "machine: shared") + "# ünï ✓\n";
n = await version(page);
await setText(page, shared);
await ready(page, n);
await page.click("#share");
await page.waitForFunction(() => /the link \(/.test(document.getElementById("live").textContent));
const link = await page.evaluate(() => navigator.clipboard.readText());
assert.ok(link.startsWith(base + "#m="));
const other = await open(link.slice(base.length));
await ready(other);
assert.equal(await other.innerText("h1"), "shared");
assert.equal(await getText(other), shared);
await other.evaluate(() => { location.hash = "#m=AAAA%"; });
await other.waitForFunction(() => /the link is damaged/.test(document.getElementById("live").textContent));
await other.context().setOffline(true);
const stands = await version(other);
await setText(other, text("job"));
await ready(other, stands);
assert.equal(await other.innerText("h1"), "job", "it goes on without a network");
await other.context().close();
await page.context().close();

// Light and dark, wide and narrow.
for (const colorScheme of ["light", "dark"]) {
  for (const width of [390, 1440]) {
    const p = await open("#lifecycle", { viewport: { width, height: 900 }, colorScheme });
    await ready(p);
    await accessible(p, `${colorScheme}, ${width} pixels`);
    await shot(p, `${colorScheme}-${width}`);
    await p.context().close();
  }
}
await browser.close();
server.close();
assert.deepEqual(wrong, [], "the page met no error and asked no other host");
const size = (name) => statSync(join(site, name)).size;
console.log(`first.wasm.gz ${size("first.wasm.gz")} bytes, second.wasm.gz ${size("second.wasm.gz")}, main.js ${size("main.js")}`);
console.log(`first picture after ${firstPicture} ms (processor slowed four times); a change is shown after ${JSON.stringify(times)} ms`);
console.log(`a link of lifecycle-like size: ${link.length} characters`);
process.exit(0);
