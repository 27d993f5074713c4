// What every part of the page uses. Text reaches the page as text nodes alone:
// nothing here, or anywhere else, reads a string as HTML.

/** el makes an element: attributes, "on..." listeners, and children. */
export function el(tag, attributes = {}, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) e.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked") e[name] = value;
    else e.setAttribute(name, value === true ? "" : value);
  }
  e.append(...children.flat(3).filter((c) => c !== undefined && c !== null && c !== false));
  return e;
}

export const byId = (id) => document.getElementById(id);

/** show puts children into an element in place of what is there. */
export function show(parent, ...children) {
  parent.replaceChildren(...children.flat(3).filter((c) => c !== undefined && c !== null && c !== false));
}

let fading;
/** announce tells everybody, screen readers too, what has happened. */
export function announce(text) {
  const live = byId("live");
  live.textContent = text;
  live.classList.add("seen");
  clearTimeout(fading);
  fading = setTimeout(() => live.classList.remove("seen"), 4000);
}

/** overHTTP asks the server; a refused request is an Error with its sentence, one that the signal ended has the name AbortError. */
async function overHTTP(path, body, signal) {
  const options = body === undefined ? { signal } : {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), signal,
  };
  let answer;
  try {
    answer = await fetch("/api/" + path, options);
  } catch (e) {
    if (e.name === "AbortError") throw e;
    throw new Error("fsmgen serve does not answer; is it still running?");
  }
  const value = await answer.json();
  if (!answer.ok) throw new Error(value.error);
  return value;
}

let ask = overHTTP, drawing = async (n, hash) => `/api/machine/${n}/picture.svg?${hash.slice(0, 12)}`;

/** api asks a question, and is answered by the server unless somebody else answers. */
export const api = (path, body, signal) => ask(path, body, signal);

/** pictureAt is the address of a machine's picture. */
export const pictureAt = (n, hash) => drawing(n, hash);

/** answeredBy puts other answers in the place of the server's. */
export function answeredBy(otherApi, otherPicture) { [ask, drawing] = [otherApi, otherPicture]; }

/** copy puts a text on the clipboard and says so. */
export async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    announce(`${what} was copied`);
  } catch {
    announce("the browser blocks the clipboard for this page");
  }
}

/** plural: 1 step, 2 steps. */
export const plural = (n, what) => `${n} ${what}${n === 1 ? "" : "s"}`;

/** shown is a value of the server as an element. */
export function shown(value) {
  if (value.absent) return el("span", { class: "absent" }, "absent");
  if (value.kind === "set" && !value.members?.length) return el("span", { class: "absent" }, "empty");
  if (value.kind === "time") return el("span", { class: "value" }, clockText(value.text));
  if (value.kind === "string" && value.text === "") return el("span", { class: "value" }, '""');
  return el("span", { class: "value" }, value.text);
}

/** clockText writes an instant for people: UTC. */
export const clockText = (iso) => (iso ? iso.replace("T", " ").replace("Z", "") : "");

/** table makes a table that can be scrolled, also with the keyboard. */
export function table(caption, head, rows, className = "") {
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    el("table", { class: className },
      el("caption", { class: "unseen" }, caption),
      el("thead", {}, el("tr", {}, head.map((h) => el("th", { scope: "col" }, h)))),
      el("tbody", {}, rows.map((cells) => el("tr", {}, cells.map((c, i) => (i === 0 ? el("th", { scope: "row" }, c) : el("td", {}, c))))))));
}

/** badge is a state with the colour of its kind. */
export function badge(name, role) {
  return el("span", { class: "badge role-" + (role || "normal") }, name);
}

/** stored and store keep a value for this tab of the browser. */
export function stored(key) {
  try { return JSON.parse(sessionStorage.getItem(key)); } catch { return null; }
}
export function store(key, value) {
  try { sessionStorage.setItem(key, JSON.stringify(value)); } catch { /* no room: the session is lost with the page */ }
}
