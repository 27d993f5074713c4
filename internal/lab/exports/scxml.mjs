// Loads every exported SCXML with SCION, an interpreter of state charts, and has
// it take the walks that the interpreter of the language has taken: after each
// event the state and every field must be the same.
//
//   node scxml.mjs FOLDER   with *.scxml and *.walks.json of the same names
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const require = createRequire(import.meta.url);
const scion = require("@scion-scxml/scxml");

const settled = (call) => new Promise((resolve, reject) => call((failed, value) => (failed ? reject(failed) : resolve(value))));

/** load compiles a text. */
const load = (name, text) => settled((done) => scion.documentStringToModel(name, text, done));

// Members of a set have no order, and what is absent is null.
const plain = (v) => JSON.stringify(Array.isArray(v) ? [...v].sort() : v === undefined ? null : v);

/** follow takes one walk and returns what is wrong at its first wrong step. */
async function follow(model, walk) {
  const prepared = await settled((done) => model.prepare(done)); // with data of its own
  const chart = new scion.core.Statechart(prepared, { console: { log() {}, error() {} } });
  let failure = "";
  // A condition or an assignment that cannot be evaluated.
  chart.on("onError", (e) => (failure ||= `${e.name ?? "an error"}: ${e.data?.message ?? e.reason ?? JSON.stringify(e)}`));
  chart.start();
  for (const [i, step] of walk.entries()) {
    const before = chart.getConfiguration().join(" ");
    chart.gen({ name: step.name, data: step.data });
    const at = `step ${i + 1}, ${step.name} in ${before} with ${JSON.stringify(step.data)}`;
    if (failure) return `${at}: ${failure}`;
    const now = chart.getConfiguration().join(" ");
    if (now !== step.state) return `${at}: it is in ${now}, the machine in ${step.state}`;
    const data = chart.getSnapshot()[3];
    for (const [field, want] of Object.entries(step.fields)) {
      if (plain(data[field]) !== plain(want)) return `${at}: ${field} is ${plain(data[field])}, the machine says ${plain(want)}`;
    }
  }
  return "";
}

const dir = process.argv[2];
let failed = 0;
let steps = 0;
let kept;
const fail = (text) => {
  failed++;
  console.error(text);
};
const files = readdirSync(dir).filter((f) => f.endsWith(".scxml"));
for (const file of files) {
  const name = file.replace(/\.scxml$/, "");
  const text = readFileSync(join(dir, file), "utf8");
  const walks = JSON.parse(readFileSync(join(dir, name + ".walks.json"), "utf8"));
  const model = await load(file, text);
  let moved = 0;
  for (const walk of walks) {
    const wrong = await follow(model, walk);
    if (wrong) fail(`${name}: ${wrong}`);
    moved += walk.length;
  }
  console.log(`${name}: loaded, ${walks.length} walks, ${moved} steps`);
  steps += moved;
  if (name === "task") kept = { text, walks };
}
if (files.length === 0) fail(`no exported machine in ${dir}: nothing was checked`);

// The check itself must be able to fail.
const planted = await load("planted.scxml", kept.text.replace('event="complete" target="completed"', 'event="complete" target="pending"'));
const seen = await Promise.all(kept.walks.map((w) => follow(planted, w)));
if (seen.every((wrong) => wrong === "")) fail("a wrong target was not seen: this check proves nothing");

console.log(`${steps} steps, ${failed} faults`);
process.exit(failed > 0 ? 1 : 0);
