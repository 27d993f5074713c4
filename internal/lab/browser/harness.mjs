// Starts fsmgen serve and Chromium, and gives every test a page that may not ask
// another host, may not meet an error, and may not run what a text says.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

export const here = dirname(fileURLToPath(import.meta.url));
export const root = resolve(here, "../../..");
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const shots = join(here, "shots");
mkdirSync(shots, { recursive: true });

/** browserPath returns the Chromium to use: $CHROMIUM, else a usual place. */
function browserPath() {
  const places = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
  const path = places.find((p) => p && existsSync(p));
  if (!path) throw new Error("no Chromium found; install it (apt-get install chromium) or set CHROMIUM to its path");
  return path;
}

export const launch = () => chromium.launch({ executablePath: browserPath(), args: ["--no-sandbox", "--disable-dev-shm-usage", "--lang=en-GB"] });

/** folder makes a folder with files, gone when the test ends. */
export function folder(t, files) {
  const dir = mkdtempSync(join(tmpdir(), "fsmgen-browser-"));
  t.after.push(() => rmSync(dir, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text);
  return dir;
}

/** databases returns what the console's tests run over: SQLite, and PostgreSQL where $FSMGEN_PGTEST_URL names a server. */
export function databases() {
  const list = { SQLite: (t) => join(folder(t, {}), "desk.db") };
  const server = process.env.FSMGEN_PGTEST_URL;
  if (server) {
    list.PostgreSQL = () => `${server}${server.includes("?") ? "&" : "?"}search_path=desk_${randomBytes(6).toString("hex")}`;
  }
  return list;
}

/** serve runs fsmgen serve and returns its address; stop() interrupts it. */
export const serve = (t, bin, args, cwd = root) => start(t, bin, ["serve", "-q", ...args], cwd);

/** start runs a program that prints its address; stop() interrupts it. */
export async function start(t, bin, args, cwd = root) {
  const p = spawn(bin, args, { cwd, stdio: ["ignore", "pipe", "pipe"] });
  let out = "", errors = "";
  p.stderr.on("data", (d) => { errors += d; });
  const ended = new Promise((done) => p.on("exit", (code, signal) => done(code ?? signal)));
  const address = await Promise.race([
    new Promise((done) => p.stdout.on("data", (d) => { out += d; if (out.includes("\n")) done(out.trim()); })),
    ended.then((code) => { throw new Error(`${bin} ended with ${code}: ${errors}`); }),
  ]);
  const stop = async () => {
    if (p.exitCode !== null) return p.exitCode;
    p.kill("SIGINT");
    return ended;
  };
  t.after.push(async () => assert.equal(await stop(), 0, bin + " ends with 0 when it is interrupted"));
  return { address, stop, errors: () => errors };
}

/** open opens an address in a page that is watched. */
export async function open(t, address, { plain, ...options } = {}) {
  const context = await t.browser.newContext({ viewport: { width: 1360, height: 900 }, permissions: ["clipboard-read", "clipboard-write"], locale: "en-GB", ...options });
  t.after.push(() => context.close());
  const page = await context.newPage();
  page.setDefaultTimeout(8000);
  const wrong = [];
  page.expectedErrors = [];
  page.on("pageerror", (e) => wrong.push("error: " + e.message));
  page.on("console", (m) => { if (m.type() === "error" || m.type() === "warning") wrong.push(`console: ${m.text()}`); });
  page.on("dialog", (d) => { wrong.push("dialog: " + d.message()); d.dismiss(); });
  page.on("request", (r) => { if (!r.url().startsWith(new URL(address).origin + "/")) wrong.push("asked " + r.url()); });
  t.after.unshift(() => assert.deepEqual(wrong.filter((w) => !page.expectedErrors.some((e) => e.test(w))), [], "the page met no error and asked no other host"));
  await page.goto(address);
  if (plain) return page; // none of fsmgen serve
  await page.waitForSelector("html[data-ready]");
  await page.waitForFunction(() => document.getElementById("link").textContent === "live");
  return page;
}

/** shot keeps a picture of the page for people to look at. */
export async function shot(page, name, fullPage = true) {
  await page.evaluate(() => { // without what fades
    const live = document.getElementById("live");
    if (!live) return; // a page of the console
    live.style.transition = "none";
    live.classList.remove("seen");
  });
  await page.screenshot({ path: join(shots, name + ".png"), fullPage });
}

/** accessible demands that axe-core finds nothing serious or critical. */
export async function accessible(page, what) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  const bad = violations.filter((v) => v.impact === "serious" || v.impact === "critical")
    .map((v) => `${v.id} (${v.impact}): ${v.help}: ${v.nodes.slice(0, 3).map((n) => n.target.join(" ") + " " + (n.failureSummary ?? "").replace(/\s+/g, " ")).join("; ")}`);
  assert.deepEqual(bad, [], `axe-core on ${what}`);
  return violations.length;
}

/** noScroll demands that a page is no wider than its window. */
export const noScroll = async (page, what) => assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${what} is no wider than the window`);

/** press presses keys, one after the other. */
export const press = (page, ...keys) => keys.reduce((p, k) => p.then(() => page.keyboard.press(k)), Promise.resolve());

/** text returns what an element shows. */
export const text = (page, selector) => page.locator(selector).first().innerText();

/** eventually waits until a check passes: what a page shows follows what was done to it, a moment later. */
export async function eventually(check, what = "in the end", within = 8000) {
  const end = Date.now() + within;
  for (;;) {
    try { return await check(); } catch (e) {
      if (Date.now() > end) throw new Error(`${what}: ${e.message}`, { cause: e });
      await new Promise((r) => setTimeout(r, 40));
    }
  }
}

/** run runs the tests whose names hold one of the words and none that begins with -; the result is how many failed. */
export async function run(tests, words) {
  const browser = await launch();
  let failed = 0, ran = 0;
  for (const [name, test] of Object.entries(tests)) {
    const wanted = words.filter((w) => !w.startsWith("-"));
    if (wanted.length > 0 && !wanted.some((w) => name.includes(w))) continue;
    if (words.some((w) => w.startsWith("-") && name.includes(w.slice(1)))) continue;
    const t = { browser, after: [] };
    const began = Date.now();
    let error = null;
    try { await test(t); } catch (e) { error = e; }
    for (const end of t.after.splice(0)) {
      try { await end(); } catch (e) { error ??= e; }
    }
    ran++;
    if (error) failed++;
    console.log(`${error ? "FAIL" : "ok  "} ${name} (${((Date.now() - began) / 1000).toFixed(1)}s)`);
    if (error) console.log(String(error.stack).replace(/^/gm, "     "));
  }
  await browser.close();
  if (ran === 0) throw new Error("no test has such a name; there are: " + Object.keys(tests).join(", "));
  console.log(`${ran - failed} of ${ran} passed`);
  return failed;
}
