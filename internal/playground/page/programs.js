// Who answers in the place of a server: the programs in their workers.
import { answeredBy } from "../../serve/static/dom.js";

/** Program is fsmgen in a worker, with the text that it was given. */
class Program {
  constructor(name, { module, early } = {}) {
    this.waiting = new Map();
    this.number = 0;
    this.text = null; // what is on its desk
    this.worker = early?.worker ?? new Worker("worker.js", { type: "module" });
    this.ready = new Promise((resolve, reject) => {
      this.worker.onerror = (e) => {
        const error = new Error("fsmgen cannot be loaded: " + (e.message || "the browser starts no worker"));
        reject(error);
        this.end(error);
      };
      this.worker.onmessage = ({ data }) => {
        if (data.problem) { reject(new Error(data.problem)); this.end(new Error(data.problem)); return; }
        if (data.module) { resolve(data.module); return; }
        const { resolve: done, reject: failed } = this.waiting.get(data.id);
        this.waiting.delete(data.id);
        this.milliseconds = data.milliseconds;
        if (data.error === undefined) done(data.answer);
        else failed(new Error(data.error));
      };
    });
    this.ready.catch(() => {}); // who asks hears of it
    if (early) early.heard.forEach((e) => this.worker.onmessage(e));
    else this.worker.postMessage({ name, module });
  }

  async ask(question, request = "") {
    await this.ready;
    if (this.over) throw this.over;
    const id = ++this.number;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.worker.postMessage({ id, question, request });
    });
  }

  /** about asks about a text, and gives it first. */
  async about(text, question, request) {
    if (this.text !== text) {
      this.text = text;
      await this.ask("text", text);
    }
    return this.ask(question, request);
  }

  /** end ends the program: who waits for it gets the error. */
  end(error) {
    this.over = error;
    this.worker.terminate();
    for (const { reject } of this.waiting.values()) reject(error);
    this.waiting.clear();
  }
}

/** programs answer about the text that was shown last: its name, a line feed, the specification. */
export const programs = {
  first: new Program("first", { early: globalThis.early }), // see start.js
  text: "",
  searching: null,

  /** put gives a text to the first program, and returns what is to be seen of it. */
  async put(text) {
    const file = JSON.parse(await this.first.ask("text", text));
    this.first.text = this.text = text;
    return file;
  },

  /** first asks what was loaded with the page. */
  ask(question, request) { return this.first.about(this.text, question, request); },

  /** write asks the program that writes Go and SQL; it is loaded at the first question. */
  write(question, request) {
    if (this.second?.over) this.second = null;
    this.second ??= new Program("second");
    return this.second.about(this.text, question, request).catch((e) => { if (this.second.waiting.size === 0 && /loaded|ended/.test(e.message)) this.second = null; throw e; });
  },

  /** search runs the model checker beside the rest, so that it can be ended. */
  async search(bounds, signal) {
    const stopped = () => Object.assign(new Error("stopped"), { name: "AbortError" });
    if (signal?.aborted) throw stopped();
    if (this.searching?.over) this.searching = null;
    const program = (this.searching ??= new Program("first", { module: await this.first.ready }));
    const stop = () => { this.searching = null; program.end(stopped()); };
    signal?.addEventListener("abort", stop, { once: true });
    try { return await program.about(this.text, "check", bounds); } finally { signal?.removeEventListener("abort", stop); }
  },
};

async function api(path, body, signal) {
  const question = path.split("/")[2] ?? "machine", request = body === undefined ? "" : JSON.stringify(body);
  switch (question) {
    case "check": return JSON.parse(await programs.search(request, signal));
    case "gotest": return JSON.parse(await programs.write("gotest", request));
  }
  return JSON.parse(await programs.ask(question, request));
}

let drawn = "";
async function picture() {
  URL.revokeObjectURL(drawn);
  return (drawn = URL.createObjectURL(new Blob([await programs.ask("picture.svg")], { type: "image/svg+xml" })));
}

answeredBy(api, picture);
