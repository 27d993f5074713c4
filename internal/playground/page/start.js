// Begins to load fsmgen while the page itself is still being read.
globalThis.early = { worker: new Worker("worker.js", { type: "module" }), heard: [] };
early.worker.onmessage = (e) => early.heard.push(e);
early.worker.postMessage({ name: "first" });
