// Draws Mermaid diagrams in a headless Chromium and writes where everything
// stands, for TestSideBySide:
//
//   node geometry.mjs OUT.json NAME=FILE.mmd...
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { chromium } from "playwright-core";

const require = createRequire(import.meta.url);
const library = join(dirname(require.resolve("mermaid/package.json")), "dist/mermaid.min.js");

/** measure runs in the page: draws text and returns boxes, edges and labels. */
async function measure({ text, id }) {
  const box = document.getElementById("drawing");
  const { svg } = await globalThis.mermaid.render(id, text);
  box.innerHTML = svg;
  const rect = (n, name) => {
    const r = n.getBoundingClientRect();
    return { Name: name, X: r.x, Y: r.y, W: r.width, H: r.height };
  };
  const Boxes = [...box.querySelectorAll("g.node")].map((n, i) => rect(n, `${i} ${n.id}`));
  const labels = [...box.querySelectorAll("g.edgeLabels > g")];
  // The ends of an edge are the boxes nearest to the ends of its line.
  const near = (p) => {
    const far = (b) => Math.hypot(Math.max(b.X - p.X, 0, p.X - b.X - b.W), Math.max(b.Y - p.Y, 0, p.Y - b.Y - b.H));
    return Boxes.reduce((a, b) => (far(b) < far(a) ? b : a)).Name;
  };
  const Edges = [...box.querySelectorAll(".edgePaths path")].map((path, i) => {
    const matrix = path.getScreenCTM();
    const length = path.getTotalLength();
    const line = [];
    for (let k = 0; k <= 60; k++) {
      const p = path.getPointAtLength((length * k) / 60).matrixTransform(matrix);
      line.push({ X: p.x, Y: p.y });
    }
    const label = labels[i] ? rect(labels[i], "") : { Name: "", X: 0, Y: 0, W: 0, H: 0 };
    if (label.W < 3) label.W = 0;
    return { Name: path.id, From: near(line[0]), To: near(line[60]), Lines: [line], Label: label };
  });
  return { Boxes, Edges };
}

const [out, ...named] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
const drawings = {};
try {
  const page = await browser.newPage({ viewport: { width: 1600, height: 1200 } });
  await page.setContent('<body style="margin:0"><div id="drawing" style="display:inline-block"></div></body>');
  await page.addScriptTag({ path: library });
  await page.evaluate(() => globalThis.mermaid.initialize({ startOnLoad: false }));
  for (const [i, arg] of named.entries()) {
    const [name, file] = arg.split("=");
    // The legend and the projection are no part of what is compared.
    const text = readFileSync(file, "utf8")
      .replace(/^ *note right of [\s\S]*?^ *end note\n/gm, "")
      .replace(/^ *state "[^"]*" as projection \{[\s\S]*?^ {2}\}\n/gm, "")
      .replace(/^.*\blegend\b.*\n/gm, "");
    drawings[name] = await page.evaluate(measure, { text, id: `d${i}` });
  }
} finally {
  await browser.close();
}
writeFileSync(out, JSON.stringify(drawings));
