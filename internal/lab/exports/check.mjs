// Loads every exported machine with XState and walks through its cells: for
// each state and each operation, every way that a guard can open must lead
// where the matrix of the machine (the CSV, another text) says, and nothing else
// may move.
//
//   node check.mjs FOLDER   with *.xstate.json and *.csv of the same names
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createMachine, getNextSnapshot } from "xstate";

/** rows reads a CSV: no cell of a matrix has quotes or line breaks in it. */
function rows(file) {
  return readFileSync(file, "utf8").trim().split("\n").map((line) => line.split(","));
}

const keyOf = (guard) => (guard.params ? JSON.stringify(guard.params) : guard.type);

/** guardsOf collects every guard of a configuration. */
function guardsOf(config) {
  const found = new Map();
  for (const node of Object.values(config.states)) {
    for (const list of Object.values(node.on ?? {})) {
      for (const { guard } of list) if (guard) found.set(keyOf(guard), guard);
    }
  }
  return found;
}

/** outcomes walks through all ways of one cell. */
function outcomes(config, state, event) {
  const all = new Set();
  const keys = [...guardsOf(config).keys()];
  for (const open of [...keys.map((k) => [k]), [], keys]) {
    const taken = [];
    const check = (guard) => (_, params) => open.includes(keyOf({ type: guard, params }));
    const machine = createMachine(config).provide({
      guards: Object.fromEntries([...guardsOf(config).values()].map((g) => [g.type, check(g.type)])),
    });
    const before = machine.resolveState({ value: state });
    const possible = before.can({ type: event });
    if (!possible) {
      all.add("reject");
      continue;
    }
    const next = getNextSnapshot(machine, before, { type: event });
    const list = config.states[state].on[event];
    const chosen = list.find((t) => !t.guard || open.includes(keyOf(t.guard)));
    for (const a of chosen.actions ?? []) taken.push(a.type);
    if (taken.includes("record_only")) all.add("record_only");
    else if (taken.includes("refuse")) all.add("reject " + chosen.actions[0].params.error);
    else all.add(next.value);
    if (!chosen.target && next.value !== state) all.add(`moved to ${next.value} without a target`);
  }
  return all;
}

const dir = process.argv[2];
const files = readdirSync(dir).filter((f) => f.endsWith(".xstate.json"));
let failed = 0;
let cells = 0;
const fail = (text) => {
  failed++;
  console.error(text);
};
for (const file of files) {
  const name = file.replace(/\.xstate\.json$/, "");
  const config = JSON.parse(readFileSync(join(dir, file), "utf8"));
  const [head, ...operations] = rows(join(dir, name + ".csv"));
  for (const row of operations) {
    const [operation, , guards] = row;
    head.slice(3).forEach((state, i) => {
      const cell = row[3 + i];
      if (config.states[state] === undefined) return fail(`${name}: no state ${state}`);
      if (config.states[state].type === "final") {
        const recorded = config.states[state].meta?.recordOnly?.includes(operation) ?? false;
        if (recorded !== (cell === "record_only")) fail(`${name}: ${operation} in ${state} is ${cell}, recorded: ${recorded}`);
        cells++;
        return;
      }
      const got = outcomes(config, state, operation);
      const want = new Set(cell === "" ? ["reject"] : cell.split(" | "));
      for (const w of want) if (!got.has(w)) fail(`${name}: ${operation} in ${state} never leads to ${w}, only to ${[...got].join(", ")}`);
      // Where nothing is without a guard, none may hold: a guard of the operation
      // refuses, or has the refusal recorded. Nothing else is added.
      const guarded = config.states[state].on?.[operation]?.every((t) => t.guard) ?? true;
      for (const g of got) {
        if (want.has(g) || (g === "reject" && guarded) || (g === "record_only" && guards !== "")) continue;
        fail(`${name}: ${operation} in ${state} leads to ${g}, the matrix says ${cell}`);
      }
      cells++;
    });
  }
  console.log(`${name}: loaded, ${operations.length} operations, ${head.length - 3} states`);
}
if (files.length === 0) fail(`no exported machine in ${dir}: nothing was checked`);

// The check itself must be able to fail.
const planted = JSON.parse(readFileSync(join(dir, "task.xstate.json"), "utf8"));
planted.states.pending.on.start[0].target = "completed";
if (!outcomes(planted, "pending", "start").has("completed")) fail("a wrong target was not seen: this check proves nothing");

console.log(`${cells} cells, ${failed} faults`);
process.exit(failed > 0 ? 1 : 0);
