// Writes a program of Go without the tables that only the trace of a crash needs, and packs it.
//
//   node shrink.mjs PROGRAM.wasm PROGRAM.wasm.gz
//
// Go's linker puts into each program the file and line of every instruction, and the names
// of all functions. The page shows no traces; that is a sixth of what would be stored. A table is named by its offset in the record
// of its function, where 0 means that there is none (runtime/symtab.go of Go 1.26).
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const [from, to] = process.argv.slice(2);
const wasm = readFileSync(from);

const leb = (bytes, at) => {
  let value = 0;
  for (let shift = 0; ; shift += 7) {
    const b = bytes[at++];
    value += (b & 127) * 2 ** shift;
    if (b < 128) return [value, at];
  }
};
const number = (value) => {
  const out = [];
  do { out.push((value & 127) | (value > 127 ? 128 : 0)); value = Math.floor(value / 128); } while (value > 0);
  return Buffer.from(out);
};
/** signed is a number of 32 bits as the instruction i32.const has it. */
const signed = (value) => {
  const out = [];
  for (;;) {
    const b = value & 127;
    value >>= 7;
    if ((value === 0 && !(b & 64)) || (value === -1 && b & 64)) return Buffer.from([...out, b]);
    out.push(b | 128);
  }
};

// The sections, and the data as it lies in memory.
const sections = [];
let memory;
for (let at = 8; at < wasm.length;) {
  const id = wasm[at], [size, begin] = leb(wasm, at + 1);
  sections.push({ id, body: wasm.subarray(begin, begin + size) });
  at = begin + size;
}
const data = sections.find((s) => s.id === 11);
{
  let [count, at] = leb(data.body, 0), end = 0;
  const segments = [];
  for (; count > 0; count--) {
    assert.equal(data.body[at] << 8 | data.body[at + 1], 0x41, "a segment begins with its address");
    let address, size;
    [address, at] = leb(data.body, at + 2);
    assert.equal(data.body[at], 0x0b);
    [size, at] = leb(data.body, at + 1);
    segments.push([address, data.body.subarray(at, at + size)]);
    at += size;
    end = Math.max(end, address + size);
  }
  memory = Buffer.alloc(end);
  for (const [address, bytes] of segments) bytes.copy(memory, address);
}

// The table of functions.
const magic = Buffer.from([0xf1, 0xff, 0xff, 0xff, 0, 0, 1, 8]);
const table = memory.indexOf(magic);
assert.ok(table > 0 && memory.indexOf(magic, table + 1) < 0, "there is one table of functions");
const head = (n) => Number(memory.readBigUInt64LE(table + 8 + 8 * n));
const [count, names, units, files, pcs, functions] = [head(0), head(3), head(4), head(5), head(6), head(7)].map((x, i) => (i === 0 ? x : table + x));
assert.ok(names < units && units < files && files < pcs && pcs < functions && count > 1000, "the parts of the table are in order");

/** lengthOf is the length of a table of a function: pairs of numbers, ended by 0. */
const lengthOf = (offset) => {
  let at = pcs + offset, value;
  for (let first = true; ; first = false) {
    [value, at] = leb(memory, at);
    if (value === 0 && !first) return at - pcs - offset;
    [, at] = leb(memory, at);
  }
};
const ours = (name) => !/^(runtime|internal\/runtime)[./]/.test(name); // the runtime asks for names of its own
const kept = new Set(), gone = new Set(), keptNames = new Set();
for (let i = 0; i < count; i++) {
  const f = functions + memory.readUInt32LE(functions + 8 * i + 4);
  const field = (n) => memory.readUInt32LE(f + 4 * n);
  const drop = (n) => { if (field(n) !== 0) gone.add(field(n)); memory.writeUInt32LE(0, f + 4 * n); };
  const nameAt = names + field(1), name = memory.toString("latin1", nameAt, memory.indexOf(0, nameAt));
  if (ours(name)) memory.writeUInt32LE(0, f + 4);
  else keptNames.add([nameAt, name.length]);
  kept.add(field(4)); // the stack pointer
  drop(5); // files
  drop(6); // lines
  const pcdata = field(7), seen = [2, 3]; // abi.PCDATA_InlTreeIndex and PCDATA_ArgLiveIndex: what traces ask for
  for (let k = 0; k < pcdata; k++) if (seen.includes(k)) drop(11 + k); else kept.add(field(11 + k));
}
for (const offset of gone) if (!kept.has(offset)) memory.fill(0, pcs + offset, pcs + offset + lengthOf(offset));
const texts = [...keptNames].map(([at, length]) => [at, Buffer.from(memory.subarray(at, at + length))]);
memory.fill(0, names, pcs); // with those of units and files
for (const [at, text] of texts) text.copy(memory, at);
assert.equal(memory[names], 0, "the name that stands for those that went is empty");

// The data again, in segments without long runs of zeros.
const parts = [];
let segments = 0;
for (let at = 0; at < memory.length;) {
  while (at < memory.length && memory[at] === 0) at++;
  let end = at, zeros = 0;
  for (let i = at; i < memory.length && zeros < 128; i++) { zeros = memory[i] === 0 ? zeros + 1 : 0; if (zeros === 0) end = i + 1; }
  if (end === at) break;
  parts.push(Buffer.from([0, 0x41]), signed(at), Buffer.from([0x0b]), number(end - at), memory.subarray(at, end));
  segments++;
  at = end;
}
assert.ok(segments < 100_000);
data.body = Buffer.concat([number(segments), ...parts]);
const out = Buffer.concat([wasm.subarray(0, 8), ...sections.flatMap(({ id, body }) => [Buffer.from([id]), number(body.length), body])]);
writeFileSync(to, gzipSync(out, { level: 9, memLevel: 9 }));
