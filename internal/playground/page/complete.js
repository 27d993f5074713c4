// Completion: keys and values by the schema of the language, names by the text.

/** whereIs says which keys lead to a position, and whether a key or a value stands there. */
export function whereIs(before) {
  const lines = before.split("\n"), line = lines.pop();
  const indentOf = (l) => l.length - l.trimStart().replace(/^(- +)+/, "").length;
  const path = [];
  let depth = indentOf(line);
  for (let i = lines.length - 1; i >= 0 && depth > 0; i--) {
    const key = /^\s*(?:- +)*(["']?)([\w.-]+)\1\s*:\s*(?:[|>&#].*)?$/.exec(lines[i]) ?? /^\s*(?:- +)*(["']?)([\w.-]+)\1\s*:/.exec(lines[i]);
    if (!lines[i].trim() || lines[i].trimStart().startsWith("#") || !key || indentOf(lines[i]) >= depth) continue;
    depth = indentOf(lines[i]);
    path.unshift(key[2]);
  }
  // Within the line: what is open of {key: [a, b}.
  const open = [];
  let word = "", key = null;
  for (const c of line.trimStart().replace(/^(- +)+/, "")) {
    if (c === ":") { key = word.trim().replace(/^["']|["']$/g, ""); word = ""; } else if (c === "{" || c === "[") { open.push({ kind: c, key }); key = null; word = ""; } else if (c === "}" || c === "]") { key = open.pop()?.key ?? null; word = ""; } else if (c === ",") { if (open.at(-1)?.kind !== "[") key = null; word = ""; } else if (c === "#" && /(^|\s)$/.test(word)) return null;
    else word += c;
  }
  for (const o of open) if (o.key) path.push(o.key);
  if (key) path.push(key);
  return { path, value: key !== null || open.at(-1)?.kind === "[" || /^\s*- +[^:]*$/.test(line) && path.length > 0 && open.length === 0, word: word.trim() };
}

/** nodes are the parts of the schema that a node stands for. */
function nodes(schema, node) {
  if (!node || typeof node !== "object") return [];
  const all = [node];
  if (node.$ref) all.push(...nodes(schema, schema.$defs[node.$ref.split("/").pop()]));
  for (const list of [node.anyOf, node.oneOf, node.allOf]) for (const x of list ?? []) all.push(...nodes(schema, x));
  return all;
}

const beneath = (schema, at, key) => at.flatMap((n) => {
  const next = n.properties?.[key] ?? (typeof n.additionalProperties === "object" ? n.additionalProperties : undefined);
  return [...nodes(schema, next), ...(n.items ? beneath(schema, nodes(schema, n.items), key) : [])];
});

/** declared are the names below a key of the top level, also of a text with errors. */
export function declared(text, section) {
  const body = new RegExp(`^${section}:[^\\S\\n]*(?:#.*)?\\n((?:[ #].*\\n|\\n)*)`, "m").exec(text + "\n")?.[1] ?? "";
  const indent = /^( +)[\w"']/m.exec(body)?.[1];
  return indent ? [...body.matchAll(new RegExp(`^${indent}["']?(\\w+)["']?:`, "gm"))].map((m) => m[1]) : [];
}

/** named says what the names at a path are of. */
function named(path, text) {
  switch (path.at(-1)) {
    case "to": return [...declared(text, "states"), "same"];
    case "from": case "creates": return [...declared(text, "states"), ...declared(text, "state_groups")];
    case "require": return declared(text, "guards");
    case "then": case "failed": return declared(text, "operations");
    case "set": case "clear": case "increment": case "decrement": case "reset": case "add": case "remove": case "present": case "absent":
      return declared(text, "fields");
  }
  return [];
}

/** completer offers what can stand at the cursor. */
export function completer(schema) {
  return async (context) => {
    const before = context.state.doc.sliceString(0, context.pos);
    const word = context.matchBefore(/[\w.]*/);
    const where = whereIs(before);
    if (!where || (!context.explicit && (!word || word.from === word.to))) return null;
    const all = await schema();
    let at = nodes(all, all);
    for (const key of where.path) at = beneath(all, at, key);
    at = at.flatMap((n) => [n, ...nodes(all, n.items)]);
    const options = new Map();
    const put = (label, type, info, apply) => { if (!options.has(label)) options.set(label, { label, type, info, apply }); };
    if (where.value) for (const n of at) for (const v of n.enum ?? (n.const === undefined ? [] : [n.const])) put(String(v), "enum", n.description);
    else for (const n of at) for (const [k, v] of Object.entries(n.properties ?? {})) put(k, "property", v.description, k + ": ");
    for (const name of named(where.path, context.state.doc.toString())) put(name, "variable");
    return options.size ? { from: word?.from ?? context.pos, options: [...options.values()], validFor: /^[\w.]*$/ } : null;
  };
}
