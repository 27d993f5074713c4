// Reads the built site in a real Chromium, from a plain file server.
//
//   node check.mjs FOLDER
//
// Every page is reached from the first one, every link and picture leads somewhere, no
// page is wider than the window from 320 to 1920 pixels, axe-core finds nothing in light
// and dark, the search works, and no other host is asked. Exit code 1 when one fails.
import { existsSync, mkdirSync, readFileSync, readdirSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { hostname } from "node:os";
import { extname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const site = resolve(process.argv[2]);
const here = fileURLToPath(new URL(".", import.meta.url));
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const widths = [320, 480, 768, 1024, 1440, 1920];
const failures = [];
const fail = (what) => { failures.push(what); console.log("FAIL " + what); };

const files = (dir) => readdirSync(dir).flatMap((n) => (statSync(join(dir, n)).isDirectory() ? files(join(dir, n)) : [join(dir, n)]));
const all = files(site).map((f) => relative(site, f));
const written = all.filter((f) => !f.startsWith("pagefind/"));
const pages = written.filter((f) => f.endsWith(".html"));

// No trace of the machine that built it.
for (const f of written) {
  const text = readFileSync(join(site, f), "utf8");
  for (const trace of [resolve(here, "../../../.."), hostname().length > 3 ? hostname() : ""]) {
    if (trace && text.includes(trace)) fail(`${f} names ${trace}`);
  }
}

const types = { ".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml", ".json": "application/json", ".wasm": "application/wasm" };
const server = createServer((req, res) => {
  const name = decodeURIComponent(new URL(req.url, "http://x").pathname);
  const path = join(site, name.endsWith("/") ? name + "index.html" : name);
  if (!path.startsWith(site) || !existsSync(path) || statSync(path).isDirectory()) { res.writeHead(404).end("not here"); return; }
  res.writeHead(200, { "content-type": types[extname(path)] ?? "application/octet-stream" }).end(readFileSync(path));
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const base = `http://127.0.0.1:${server.address().port}/`;

const executablePath = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((p) => p && existsSync(p));
if (!executablePath) throw new Error("no Chromium found; install it (apt-get install chromium) or set CHROMIUM to its path");
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-dev-shm-usage"] });

const watched = async (options) => {
  const page = await (await browser.newContext(options)).newPage();
  page.on("pageerror", (e) => fail(`${page.url()}: ${e.message}`));
  page.on("console", (m) => { if (m.type() === "error") fail(`${page.url()}: ${m.text()}`); });
  page.on("request", (r) => { if (!r.url().startsWith(base) && !/^(blob|data):/.test(r.url())) fail(`${page.url()} asked ${r.url()}`); });
  return page;
};

// Links, pictures and widths, on every page that can be reached.
const page = await watched({ viewport: { width: 1440, height: 900 } });
const reached = new Map(); // path → ids
const wanted = []; // [from, path, fragment]
const queue = ["index.html"];
while (queue.length > 0) {
  const path = queue.shift();
  if (reached.has(path)) continue;
  const answer = await page.goto(base + path);
  if (answer.status() !== 200) { fail(`${path} answers ${answer.status()}`); reached.set(path, new Set()); continue; }
  const seen = await page.evaluate(() => ({
    ids: [...document.querySelectorAll("[id],[name]")].map((e) => e.id || e.getAttribute("name")),
    links: [...document.querySelectorAll("a[href]")].map((a) => a.href),
    broken: [...document.images].filter((i) => !i.complete || i.naturalWidth === 0).map((i) => i.src),
    unnamed: [...document.images].filter((i) => !i.alt).map((i) => i.src),
    titles: document.querySelectorAll("main h1").length,
  }));
  for (const src of seen.broken) fail(`${path}: the picture ${src} is not shown`);
  for (const src of seen.unnamed) fail(`${path}: the picture ${src} has no text`);
  if (seen.titles !== 1) fail(`${path} has ${seen.titles} titles`);
  reached.set(path, new Set(seen.ids));
  for (const link of seen.links) {
    if (!link.startsWith(base)) continue;
    const [to, fragment = ""] = link.slice(base.length).split("#");
    wanted.push([path, to, decodeURIComponent(fragment)]);
    if (!reached.has(to)) queue.push(to);
  }
  for (const width of widths) {
    await page.setViewportSize({ width, height: 900 });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (wide > 0) fail(`${path} is ${wide} pixels wider than a window of ${width}`);
  }
}
for (const [from, to, fragment] of wanted) {
  if (fragment && reached.get(to) && !reached.get(to).has(fragment)) fail(`${from}: ${to} has no #${fragment}`);
}
for (const path of pages) if (!reached.has(path)) fail(`no link leads to ${path}`);

// Contrast and the like, on a page of each kind, with the results of a search open.
const kinds = ["index.html", "docs/tutorial.html", "docs/concepts.html", "docs/cookbook.html", "docs/troubleshooting.html", "spec/SPEC.html", "specs/docs/lifecycle.html",
  "findings/index.html", "findings/fsm101.html", "findings/fsm704.html", "BENCHMARKS.html", "docs/decisions/0031-handles.html"];
mkdirSync(join(here, "shots"), { recursive: true });
for (const colorScheme of ["light", "dark"]) {
  for (const width of [390, 1440]) {
    const page = await watched({ viewport: { width, height: 900 }, colorScheme });
    for (const path of kinds) {
      await page.goto(base + path);
      await page.screenshot({ path: join(here, "shots", `${colorScheme}-${width}-${path.replaceAll("/", "_")}.png`) });
      if (path === "index.html") {
        await page.fill("input[type=search]", "lease");
        await page.waitForSelector("#results a");
        await page.screenshot({ path: join(here, "shots", `${colorScheme}-${width}-search.png`) });
      }
      await page.evaluate(axe);
      const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
      for (const v of violations) fail(`${path}, ${colorScheme}, ${width}: ${v.id} (${v.impact}): ${v.nodes.slice(0, 2).map((n) => n.target.join(" ") + " " + (n.failureSummary ?? "").replace(/\s+/g, " ")).join("; ")}`);
    }
  }
}

// The search, from a page in a folder: by a code, and closed by a key.
await page.setViewportSize({ width: 1024, height: 800 });
await page.goto(base + "docs/tutorial.html");
await page.fill("input[type=search]", "FSM301");
await page.waitForFunction(() => [...document.querySelectorAll("#results a")].some((a) => a.href.includes("findings/fsm301.html")), null, { timeout: 8000 }).catch(() => fail("the search does not find FSM301"));
const hits = await page.evaluate(() => [...document.querySelectorAll("#results a")].map((a) => a.href));
for (const hit of hits) if ((await page.request.get(hit)).status() !== 200) fail(`the search leads to ${hit}, which is not there`);
await page.keyboard.press("Escape");
if (await page.locator("#results").isVisible()) fail("Escape does not close the results");
await browser.close();
server.close();
console.log(`${reached.size} pages, ${wanted.length} links, ${widths.length} widths each, axe-core on ${kinds.length} pages in light and dark at two widths: ${failures.length} failures`);
process.exit(failures.length > 0 ? 1 : 0);
