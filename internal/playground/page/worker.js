// A program of fsmgen in a worker: it is loaded, and then answers one question after the other.
import "./public/wasm_exec.js";

/** read fetches a program. It is stored as .gz; a server that says so has unpacked it already. */
async function read(name) {
  const answer = await fetch(new URL(name + ".wasm.gz", location.href));
  if (!answer.ok) throw new Error(`${name}.wasm.gz: the file server answers ${answer.status}`);
  const bytes = new Uint8Array(await answer.arrayBuffer());
  const packed = bytes[0] === 0x1f && bytes[1] === 0x8b;
  const body = new Blob([bytes]).stream();
  return new Response(packed ? body.pipeThrough(new DecompressionStream("gzip")) : body, { headers: { "Content-Type": "application/wasm" } });
}

async function load({ name, module }) {
  module ??= await WebAssembly.compileStreaming(await read(name));
  const go = new globalThis.Go();
  go.run(await WebAssembly.instantiate(module, go.importObject)).then(() => postMessage({ problem: "fsmgen has ended; load the page again" }));
  postMessage({ module });
}

addEventListener("message", ({ data }) => {
  if (data.name) {
    load(data).catch((e) => postMessage({ problem: "fsmgen cannot be loaded: " + e.message }));
    return;
  }
  const began = performance.now();
  let answer;
  try { answer = globalThis.fsmgen(data.question, data.request); } catch (e) { answer = new Error("fsmgen has ended; load the page again: " + e.message); }
  const milliseconds = performance.now() - began;
  postMessage(answer instanceof Error ? { id: data.id, error: answer.message, milliseconds } : { id: data.id, answer, milliseconds });
});
