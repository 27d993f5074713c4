// Parses and draws every diagram of the repository with the real Mermaid in a
// headless Chromium, so that no generated diagram is a guess: with version 11,
// which GitHub has, and with 10.9, which many wikis have, on a light page and on a
// dark one.
//
//   node check.mjs [--png DIR] [FILE or FOLDER...]
//
// In a folder it takes every .mmd and the mermaid blocks of every .md; without
// arguments, in the repository. For each one it
// demands that Mermaid parses it, that the drawing holds every state and every
// arrow that the text declares, that no two boxes or labels lie on each other, and
// that the text in the boxes has a contrast of at least 4.5 to 1.
// With --png the pictures are kept in DIR. Exit code 1 when a file fails.
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const here = dirname(fileURLToPath(import.meta.url));
const root = resolve(here, "../../..");

/** mermaidFiles lists every .mmd and .md below dir, sorted, without installed packages. */
function mermaidFiles(dir) {
  const found = [];
  for (const entry of readdirSync(dir, { withFileTypes: true })) {
    if (entry.name.startsWith(".") || entry.name === "node_modules") continue;
    const path = join(dir, entry.name);
    if (entry.isDirectory()) found.push(...mermaidFiles(path));
    else if (/\.(mmd|md)$/.test(entry.name)) found.push(path);
  }
  return found.sort();
}

/** diagramsOf returns the diagrams of a file, each with a name for messages. */
function diagramsOf(file) {
  const text = readFileSync(file, "utf8");
  const name = relative(root, file);
  if (!file.endsWith(".md")) return [{ name, text }];
  const blocks = [...text.matchAll(/^```mermaid\n([\s\S]*?)^```$/gm)];
  return blocks.map(([, block], i) => ({ name: `${name} (block ${i + 1})`, text: block }));
}

/** browserPath returns the Chromium to use: $CHROMIUM, else a usual place. */
function browserPath() {
  const places = [
    process.env.CHROMIUM,
    "/usr/bin/chromium",
    "/usr/bin/chromium-browser",
    "/usr/bin/google-chrome",
  ];
  const path = places.find((p) => p && existsSync(p));
  if (!path) throw new Error("no Chromium found; install it (apt-get install chromium) or set CHROMIUM to its path");
  return path;
}

/** draw runs in the page: parses and draws text, and says what is wrong with it. */
async function draw({ text, id }) {
  const m = globalThis.mermaid;
  const wrong = [];
  try {
    await m.parse(text);
  } catch (e) {
    return { wrong: [`does not parse: ${e.message}`] };
  }
  const box = document.getElementById("drawing");
  box.replaceChildren();
  try {
    const { svg } = await m.render(id, text);
    box.innerHTML = svg;
  } catch (e) {
    return { wrong: [`does not draw: ${e.message}`] };
  }
  const decode = (s) => {
    const t = document.createElement("textarea");
    t.innerHTML = s.replace(/<br\/>/g, "").replace(/#(\w+);/g, (_, code) => (/^\d/.test(code) ? `&#${code};` : `&${code};`));
    return t.value;
  };
  const shown = box.textContent.replace(/\s+/g, " ");
  const flow = /^flowchart/m.test(text);
  const declared = flow
    ? [...text.matchAll(/^\s*(\w+)\("<b>([^<"]*)<\/b>/gm)].map(([all, name, label]) => [all, label, name])
    : [...text.matchAll(/^\s*state "([^"]*)" as (\w+)/gm)];
  for (const [, label, name] of declared) {
    if (!shown.includes(decode(label))) wrong.push(`the state ${name} is not in the drawing`);
  }
  const arrows = text.match(/^\s*\S+ (-->|~~~)[| ]/gm)?.length ?? 0;
  const notes = text.match(/^\s*end note$/gm)?.length ?? 0; // a line leads to each note
  const paths = box.querySelectorAll(".edgePaths path").length;
  if ((flow || /^stateDiagram/m.test(text)) && paths !== arrows + notes) wrong.push(`${arrows} arrows and ${notes} notes are declared, but ${paths} lines are drawn`);

  const boxes = [...box.querySelectorAll("g.node, g.edgeLabel")]
    .filter((n) => !n.querySelector(".state-start, .state-end"))
    .map((n) => ({ name: n.textContent.trim() || n.id, r: n.getBoundingClientRect() }))
    .filter((b) => b.r.width > 0 && b.r.height > 0);
  for (let i = 0; i < boxes.length; i++) {
    for (let j = i + 1; j < boxes.length; j++) {
      const [a, b] = [boxes[i], boxes[j]];
      const wide = Math.min(a.r.right, b.r.right) - Math.max(a.r.left, b.r.left);
      const high = Math.min(a.r.bottom, b.r.bottom) - Math.max(a.r.top, b.r.top);
      if (wide > 2 && high > 2) wrong.push(`"${a.name}" and "${b.name}" lie on each other`);
    }
  }

  const colour = (s) => (s.match(/[\d.]+/g) ?? []).map(Number);
  const light = ([r, g, b]) => {
    const part = (v) => ((v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  };
  const ground = colour(getComputedStyle(document.body).backgroundColor);
  for (const node of box.querySelectorAll("g.node")) {
    const label = node.querySelector(".nodeLabel, text"), shape = node.querySelector("rect, path, polygon, circle");
    if (!label?.textContent.trim() || !shape || node.closest(".statediagram-note")) continue; // notes have Mermaid's own colours
    const style = getComputedStyle(shape), filled = style.fill !== "none" && colour(style.fill)[3] !== 0;
    const a = light(colour(getComputedStyle(label).color)), b = light(filled ? colour(style.fill) : ground);
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < 4.5) wrong.push(`"${label.textContent.trim()}" has a contrast of ${contrast.toFixed(1)}`);
  }
  return { wrong, states: declared.length };
}

const args = process.argv.slice(2);
let pngs = "";
const given = [];
for (let i = 0; i < args.length; i++) {
  if (args[i] === "--png") pngs = args[++i];
  else given.push(args[i]);
}
const files = (given.length > 0 ? given : [root])
  .map((path) => resolve(path))
  .flatMap((path) => (statSync(path).isDirectory() ? mermaidFiles(path) : [path]));
const diagrams = files.flatMap(diagramsOf);
if (diagrams.length === 0) {
  console.error("no diagram found: nothing was checked");
  process.exit(1);
}
if (pngs) mkdirSync(pngs, { recursive: true });

const require = createRequire(import.meta.url);
const browser = await chromium.launch({ executablePath: browserPath(), args: ["--no-sandbox"] });
const bad = new Set();
try {
  for (const version of ["mermaid", "mermaid10"]) {
    const library = join(dirname(require.resolve(version + "/package.json")), "dist/mermaid.min.js");
    for (const theme of ["default", "dark"]) {
      const page = await browser.newPage({ viewport: { width: 1600, height: 1200 } });
      await page.setContent(`<body style="margin:0;background:${theme === "dark" ? "#0d1117" : "#fff"}"><div id="drawing" style="display:inline-block;padding:16px"></div></body>`);
      await page.addScriptTag({ path: library });
      await page.evaluate((t) => globalThis.mermaid.initialize({ startOnLoad: false, theme: t }), theme);

      // The check itself must be able to fail.
      const broken = await page.evaluate(draw, { text: "stateDiagram-v2\n  a --> --> b\n", id: "canary" });
      const faint = await page.evaluate(draw, { text: 'stateDiagram-v2\n  state "a" as a\n  classDef x fill:#fff,color:#eee\n  class a x\n', id: "faint" });
      if (broken.wrong.length === 0 || faint.wrong.length === 0) throw new Error("a broken diagram was accepted: this check proves nothing");

      for (const [i, { name, text }] of diagrams.entries()) {
        if (bad.has(name)) continue;
        const { wrong, states } = await page.evaluate(draw, { text, id: `d${i}` });
        if (wrong.length > 0) {
          bad.add(name);
          for (const w of wrong) console.error(`${name} (${version}, ${theme}): ${w}`);
          continue;
        }
        if (version !== "mermaid" || theme !== "default") continue;
        if (!name.startsWith("..")) console.log(`${name}: ok, ${states} states`);
        if (pngs) {
          await page.evaluate(() => {
            const svg = document.querySelector("#drawing svg");
            const box = svg.viewBox.baseVal;
            svg.style.maxWidth = "none";
            svg.setAttribute("width", box.width);
            svg.setAttribute("height", box.height);
          });
          const png = join(pngs, name.replace(/^(\.\.\/)+|\.mmd$/g, "").replace(/[^\w.-]+/g, "_") + ".png");
          await page.locator("#drawing").screenshot({ path: png });
        }
      }
      await page.close();
    }
  }
} finally {
  await browser.close();
}
const failed = bad.size;
console.log(`${diagrams.length - failed} of ${diagrams.length} diagrams are sound`);
process.exit(failed > 0 ? 1 : 0);
