// Speaks to the YAML language server as an editor does, and looks whether it
// knows our keys: by the first line of a file, and by the settings that
// examples/downstream/README.md shows for VS Code and Neovim.
//
//   node check.mjs SCHEMA   the schema of `fsmgen schema`
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const server = createRequire(import.meta.url).resolve("yaml-language-server/bin/yaml-language-server");

/** Editor is one run of the server over stdio. */
class Editor {
  constructor(folder, schemas) {
    this.folder = folder;
    this.settings = { yaml: { schemas, schemaStore: { enable: false }, validate: true, hover: true, completion: true }, http: {}, "[yaml]": {} };
    this.waiting = new Map();
    this.diagnostics = new Map(); // the newest, by file
    this.told = [];
    this.next = 1;
    this.buffer = Buffer.alloc(0);
    this.process = spawn(process.execPath, [server, "--stdio"], { stdio: ["pipe", "pipe", "inherit"] });
    this.process.stdout.on("data", (d) => this.read(d));
  }

  read(data) {
    this.buffer = Buffer.concat([this.buffer, data]);
    for (;;) {
      const end = this.buffer.indexOf("\r\n\r\n");
      if (end < 0) return;
      const length = Number(/Content-Length: (\d+)/i.exec(this.buffer.subarray(0, end).toString())[1]);
      if (this.buffer.length < end + 4 + length) return;
      const message = JSON.parse(this.buffer.subarray(end + 4, end + 4 + length).toString());
      this.buffer = this.buffer.subarray(end + 4 + length);
      this.take(message);
    }
  }

  take(m) {
    if (m.method === "textDocument/publishDiagnostics") {
      this.diagnostics.set(m.params.uri, m.params.diagnostics);
      for (const told of this.told.splice(0)) told();
    } else if (m.method === "workspace/configuration") {
      this.write({ id: m.id, result: m.params.items.map((i) => this.settings[i.section] ?? null) });
    } else if (m.method && m.id !== undefined) {
      this.write({ id: m.id, result: null }); // it registers itself, and asks for folders
    } else if (this.waiting.has(m.id)) {
      const { done, failed } = this.waiting.get(m.id);
      this.waiting.delete(m.id);
      if (m.error) failed(new Error(JSON.stringify(m.error)));
      else done(m.result);
    }
  }

  write(message) {
    const text = Buffer.from(JSON.stringify({ jsonrpc: "2.0", ...message }));
    this.process.stdin.write(`Content-Length: ${text.length}\r\n\r\n`);
    this.process.stdin.write(text);
  }

  ask(method, params) {
    const id = this.next++;
    return new Promise((done, failed) => {
      this.waiting.set(id, { done, failed });
      this.write({ id, method, params });
    });
  }

  async begin() {
    const uri = pathToFileURL(this.folder).href;
    await this.ask("initialize", {
      processId: process.pid, rootUri: uri, workspaceFolders: [{ uri, name: "work" }],
      capabilities: {
        workspace: { configuration: true, didChangeConfiguration: { dynamicRegistration: true }, workspaceFolders: true },
        textDocument: { completion: { completionItem: { snippetSupport: true } }, hover: { contentFormat: ["markdown"] }, publishDiagnostics: {} },
      },
    });
    this.write({ method: "initialized", params: {} });
    this.write({ method: "workspace/didChangeConfiguration", params: { settings: this.settings } });
  }

  /** open opens a text, in which | stands for the cursor, and returns its place. */
  open(name, marked) {
    const at = marked.indexOf("|");
    const text = marked.replace("|", "");
    const before = marked.slice(0, Math.max(at, 0)).split("\n");
    const uri = pathToFileURL(join(this.folder, name)).href;
    writeFileSync(join(this.folder, name), text);
    this.write({ method: "textDocument/didOpen", params: { textDocument: { uri, languageId: "yaml", version: 1, text } } });
    return { textDocument: { uri }, position: { line: before.length - 1, character: before.at(-1).length } };
  }

  /** marks waits until the server marks something in a text. */
  async marks(name, text) {
    const { uri } = this.open(name, text).textDocument;
    while (!this.diagnostics.get(uri)?.length) await new Promise((done) => this.told.push(done));
    return this.diagnostics.get(uri);
  }

  async end() {
    await this.ask("shutdown", null);
    this.write({ method: "exit" });
    await new Promise((done) => this.process.on("exit", done));
  }
}

const head = "fsm: 1\nmachine: job\nentity: Job\notherwise: reject\n";
const states = "states:\n  open: {}\n  shut:\n    terminal: true\n";
const operations = "operations:\n  make: {creates: open}\n  close: {from: open, to: shut}\n";

async function look(e, what, name, first) {
  const labels = async (file, text) => {
    const list = await e.ask("textDocument/completion", e.open(file, first + text));
    return (list.items ?? list).map((i) => i.label);
  };
  const hover = async (file, text) => {
    const h = await e.ask("textDocument/hover", e.open(file, first + text));
    return typeof h?.contents === "string" ? h.contents : h?.contents?.value ?? "";
  };
  const has = (list, ...want) => { for (const w of want) assert.ok(list.includes(w), `${what}: ${w} is not among what is offered: ${list}`); };

  // The marks come first: until then the server may still read its settings.
  const good = e.open(name("good"), first + head + states + operations).textDocument.uri;
  const bad = await e.marks(name("bad"), first + head + states.replace("terminal", "terminl") + operations);
  assert.equal(bad.length, 1, `${what}: ${JSON.stringify(bad)}`);
  assert.match(bad[0].message, /terminl/);
  assert.equal(bad[0].range.start.line, (first + head).split("\n").length - 1 + 3, `${what}: the line of the unknown key`);

  has(await labels(name("top"), head + states + operations + "|"), "guards", "unique", "fields", "projection");
  has(await labels(name("state"), head + "states:\n  open: {}\n  shut:\n    |\n" + operations), "terminal", "present", "absent", "was");
  has(await labels(name("operation"), head + states + "operations:\n  make: {creates: open}\n  close:\n    from: open\n    |\n"), "to", "require", "set", "effect", "trigger");
  has(await labels(name("value"), "fsm: 1\nmachine: job\nentity: Job\notherwise: |\n"), "reject", "record_only");
  assert.match(await hover(name("hover"), head + states.replace("terminal", "ter|minal") + operations), /Nothing leaves the state; the record is frozen/, `${what}: what a key means`);
  assert.equal((await e.marks(name("kind"), first + head.replace("fsm: 1", "fsm: 2") + states + operations)).length, 1, `${what}: another version of the language`);
  assert.deepEqual(e.diagnostics.get(good), [], `${what}: a sound file, which was looked at before`);
}

const schema = process.argv[2];
assert.equal(JSON.parse(readFileSync(schema, "utf8")).$schema, "https://json-schema.org/draft/2020-12/schema");
const folder = mkdtempSync(join(tmpdir(), "fsmgen-editor-"));
copyFileSync(schema, join(folder, "fsmgen.schema.json"));
const late = setTimeout(() => { console.error("the language server does not answer"); process.exit(1); }, 120_000);
try {
  for (const [what, schemas, name, first] of [
    ["by the first line", {}, (n) => n + ".yaml", "# yaml-language-server: $schema=fsmgen.schema.json\n"],
    ["by the settings", { "./fsmgen.schema.json": ["job.yaml", "*.fsm.yaml"] }, (n) => n + ".fsm.yaml", ""],
  ]) {
    const e = new Editor(folder, schemas);
    await e.begin();
    await look(e, what, name, first);
    await e.end();
    console.log(`ok   completion, hover and marks ${what}`);
  }
} finally {
  clearTimeout(late);
  rmSync(folder, { recursive: true, force: true });
}
