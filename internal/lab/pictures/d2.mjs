// Compiles and draws every D2 text with D2 itself, and demands the arrows that
// Graphviz finds in the same machine's text.
//
//   node d2.mjs FOLDER   with *.d2, and *.plain by `dot -Tplain` of the same names
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { D2 } from "@terrastruct/d2";

const dir = process.argv[2];
const d2 = new D2();
let failed = 0;
const fail = (text) => {
  failed++;
  console.error(text);
};

// The ids of states, choice points, the start and the end.
const id = "[scx]_\\w+";

/** compile returns the arrows of a text, as sorted pairs. */
async function compile(text) {
  const { diagram, renderOptions } = await d2.compile(text);
  const svg = await d2.render(diagram, renderOptions);
  if (!svg.includes("<svg")) throw new Error("it was drawn as nothing");
  return diagram.connections
    .map((c) => `${c.src} -> ${c.dst}`)
    .filter((arrow) => new RegExp(`^${id} -> ${id}$`).test(arrow))
    .sort();
}

const files = readdirSync(dir).filter((f) => f.endsWith(".d2"));
for (const file of files) {
  const name = file.replace(/\.d2$/, "");
  try {
    const got = await compile(readFileSync(join(dir, file), "utf8"));
    const plain = readFileSync(join(dir, name + ".plain"), "utf8");
    const want = [...plain.matchAll(new RegExp(`^edge (${id}) (${id}) .*(?<! invis black)$`, "gm"))].map(([, from, to]) => `${from} -> ${to}`).sort();
    if (got.join("\n") !== want.join("\n")) {
      const missing = want.filter((w) => !got.includes(w));
      const more = got.filter((g) => !want.includes(g));
      fail(`${name}: D2 draws other arrows than Graphviz: without ${missing.join(", ") || "any"}, with ${more.join(", ") || "no"} more`);
      continue;
    }
    console.log(`${name}: ${got.length} arrows`);
  } catch (e) {
    fail(`${name}: ${e.message}`);
  }
}
if (files.length === 0) fail(`no text in ${dir}: nothing was checked`);

// The check itself must be able to fail.
const broken = await compile("a: {\n").then(() => false, () => true);
if (!broken) fail("a broken text was accepted: this check proves nothing");
process.exit(failed > 0 ? 1 : 0);
