// Holds what programs wrote to the exported schemas: each record and each event must be valid, and each must be
// refused when something is planted in it. It writes a file of the same values for the compiler of TypeScript.
//
//   node written.mjs FOLDER   with *.schema.json, *.ts, *.records.jsonl and *.events.jsonl of the same names
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import formats from "ajv-formats";

const dir = process.argv[2];
const lines = (file) => readFileSync(join(dir, file), "utf8").split("\n").filter(Boolean).map((line) => JSON.parse(line));
let failed = 0;
const fail = (...text) => {
  if (failed++ < 20) console.error(...text);
};

/** planted lists values that are wrong in one place. */
function planted(value) {
  const list = [{ ...value, planted: 1 }];
  for (const key of ["id", "state", "operation", "to"]) {
    if (key in value) {
      const { [key]: gone, ...rest } = value;
      list.push(rest);
      if (key !== "id") list.push({ ...value, [key]: gone + "_planted" }); // any text may be an id
    }
  }
  return list;
}

for (const file of readdirSync(dir).filter((f) => f.endsWith(".schema.json"))) {
  const name = file.slice(0, -".schema.json".length);
  const schema = JSON.parse(readFileSync(join(dir, file), "utf8"));
  const ajv = new Ajv2020({ allErrors: false, strict: true, strictRequired: false, strictTypes: false });
  formats(ajv);
  const record = ajv.compile({ ...schema, $id: "record" });
  const event = ajv.getSchema(`record#/$defs/${schema.title}Event`);
  const values = { records: lines(name + ".records.jsonl"), events: lines(name + ".events.jsonl") };
  for (const [what, valid] of [["records", record], ["events", event]]) {
    const kinds = new Map();
    for (const value of values[what]) {
      if (!valid(value)) fail(`${name}: ${what}: ${JSON.stringify(value)}: ${ajv.errorsText(valid.errors.slice(-3))}`);
      kinds.set(value.operation ?? value.state, value);
    }
    for (const value of kinds.values()) {
      for (const wrong of planted(value)) if (valid(wrong)) fail(`${name}: ${what}: taken, though planted: ${JSON.stringify(wrong)}`);
    }
    if (values[what].length < 20) fail(`${name}: ${values[what].length} ${what} are too few`);
  }
  const some = (list) => JSON.stringify(list.slice(0, 200), null, 1);
  const wrong = (type, value, key) =>
    `// @ts-expect-error planted\nexport const wrong${type}: ${type} = ${JSON.stringify({ ...value, [key]: "planted" })};\n`;
  writeFileSync(
    join(dir, name + ".values.ts"),
    `import type { ${schema.title}, ${schema.title}Event } from "./${name}.js";\n` +
      `export const records: ${schema.title}[] = ${some(values.records)};\nexport const events: ${schema.title}Event[] = ${some(values.events)};\n` +
      wrong(schema.title, values.records[0], "state") + wrong(`${schema.title}Event`, values.events[0], "operation"),
  );
}
if (failed > 0) {
  console.error(`${failed} faults`);
  process.exit(1);
}
