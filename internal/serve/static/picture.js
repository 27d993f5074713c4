// The picture: made by the server, with rectangles over states and operations.
import { byId, el, pictureAt, show } from "./dom.js";

/** load fetches the picture. It is a document of its own, not a text that is read as HTML. */
async function load(n, hash) {
  const address = await pictureAt(n, hash);
  return new Promise((resolve, reject) => {
    const x = new XMLHttpRequest();
    x.open("GET", address);
    x.responseType = "document";
    x.overrideMimeType("image/svg+xml");
    x.onload = () => (x.status === 200 && x.responseXML ? resolve(x.responseXML.documentElement) : reject(new Error("the picture cannot be read")));
    x.onerror = () => reject(new Error("fsmgen serve does not answer; is it still running?"));
    x.send();
  });
}

const nameOf = (hit) => hit.dataset.state ?? hit.dataset.operation;

export class Picture {
  constructor(app) {
    this.app = app;
    this.box = byId("picture");
    this.svg = null;
    this.n = -1; // the machine whose picture is here, or is awaited
    this.turn = 0;
    byId("zoom").addEventListener("click", () => {
      const on = this.box.classList.toggle("actual");
      byId("zoom").setAttribute("aria-pressed", String(on));
      this.box.tabIndex = on ? 0 : -1;
    });
  }

  /** stale keeps the last picture of a machine whose file has errors now; false when there is none. */
  stale(n) {
    this.turn++;
    const kept = this.svg !== null && this.n === n;
    this.box.inert = kept;
    this.box.classList.toggle("stale", kept);
    this.box.removeAttribute("aria-busy");
    return kept;
  }

  /** draw fetches the picture, which takes a while for a large machine; false when another one was asked for meanwhile. */
  async draw(n, file) {
    const turn = ++this.turn;
    if (this.n !== n || !this.svg) {
      this.svg = null;
      show(this.box, el("p", { class: "muted wait" }, "Drawing the picture"));
    }
    this.n = n;
    this.box.setAttribute("aria-busy", "true");
    let drawn;
    try { drawn = await load(n, file.hash); } catch (e) {
      if (turn !== this.turn) return false;
      this.box.removeAttribute("aria-busy");
      if (!this.svg) show(this.box, el("p", { class: "muted wait" }, "There is no picture: " + e.message));
      throw e;
    }
    if (turn !== this.turn) return false;
    const svg = document.importNode(drawn, true);
    this.box.inert = false;
    this.box.classList.remove("stale");
    this.box.removeAttribute("aria-busy");
    svg.setAttribute("role", "group");
    svg.setAttribute("aria-label", `Picture of ${file.name}: arrow keys move between states and operations, Enter opens one`);
    this.svg = svg;
    svg.style.setProperty("--natural", svg.getAttribute("width") + "px");
    for (const line of svg.querySelectorAll("[data-width]")) line.style.strokeWidth = line.dataset.width;
    const hits = this.hits();
    hits.forEach((hit, i) => {
      hit.setAttribute("role", "button");
      hit.setAttribute("tabindex", i === 0 ? "0" : "-1");
      hit.setAttribute("aria-label", (hit.dataset.state ? "state " : "operation ") + nameOf(hit));
      hit.addEventListener("click", () => { this.focus(hit); this.open(hit); });
      hit.addEventListener("keydown", (e) => this.key(e, hit));
    });
    show(this.box, svg);
    return true;
  }

  hits() { return this.svg ? [...this.svg.querySelectorAll(".hit")] : []; }

  open(hit) {
    if (hit.dataset.state) this.app.openState(hit.dataset.state);
    else this.app.openOperation(hit.dataset.operation);
  }

  focus(hit) {
    for (const h of this.hits()) h.setAttribute("tabindex", h === hit ? "0" : "-1");
    hit.focus();
  }

  key(event, hit) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const ways = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const hits = this.hits();
    let to = null;
    if (event.key === "Enter" || event.key === " ") this.open(hit);
    else if (event.key === "Home") to = hits[0];
    else if (event.key === "End") to = hits.at(-1);
    else if (ways[event.key]) to = nearest(hits, hit, ways[event.key]);
    else return;
    event.preventDefault();
    if (to) this.focus(to);
  }

  /** mark shows where records are, and the way that was taken. */
  mark({ states = [], current = "", from = null, to = null, operation = "" } = {}) {
    if (!this.svg) return;
    for (const hit of this.hits()) {
      hit.classList.toggle("current", hit.dataset.state !== undefined && hit.dataset.state === current);
      hit.classList.toggle("held", states.includes(hit.dataset.state) && hit.dataset.state !== current);
      hit.classList.toggle("taken", operation !== "" && hit.dataset.operation === operation && from !== null);
    }
    for (const line of this.svg.querySelectorAll("[data-operations]")) {
      const on = from !== null && operation !== "" && line.dataset.operations.split(" ").includes(operation) &&
        (line.dataset.from === from || line.dataset.from === "") && (line.dataset.to === to || line.dataset.to === "");
      line.classList.toggle("walked", on);
    }
    this.reveal(this.svg.querySelector(".hit.current") ?? this.hits()[0]);
  }

  /** reveal brings a rectangle into view where the picture is larger than its frame. */
  reveal(hit) {
    const { box } = this;
    if (!hit || (box.scrollWidth <= box.clientWidth && box.scrollHeight <= box.clientHeight)) return;
    const a = hit.getBoundingClientRect(), b = box.getBoundingClientRect();
    box.scrollLeft += a.left + a.width / 2 - b.left - b.width / 2;
    box.scrollTop += a.top + a.height / 2 - b.top - b.height / 2;
  }
}

/** nearest is the next rectangle in a direction: near, and not far aside. */
function nearest(hits, from, [dx, dy]) {
  const middle = (h) => { const r = h.getBoundingClientRect(); return [r.left + r.width / 2, r.top + r.height / 2]; };
  const [x, y] = middle(from);
  let best = null, least = Infinity;
  for (const h of hits) {
    const [a, b] = middle(h);
    const ahead = (a - x) * dx + (b - y) * dy;
    const aside = Math.abs((a - x) * dy) + Math.abs((b - y) * dx);
    if (h !== from && ahead > 1 && ahead + 2.5 * aside < least) [best, least] = [h, ahead + 2.5 * aside];
  }
  return best;
}
