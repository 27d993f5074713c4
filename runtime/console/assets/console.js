// A page that is open: it says how old it is, and loads itself again when the log has grown.
// Nothing is asked for while the page is hidden.
const ages = () => {
  const now = Date.now();
  for (const t of document.querySelectorAll("time[datetime]")) {
    const s = Math.round((now - Date.parse(t.dateTime)) / 1000);
    const n = Math.abs(s);
    const text = n < 60 ? `${n} s` : n < 3600 ? `${Math.floor(n / 60)} min` : n < 172800 ? `${Math.floor(n / 3600)} h` : `${Math.floor(n / 86400)} d`;
    t.dataset.age = s < 0 ? `in ${text}` : `${text} ago`;
  }
};
ages();
setInterval(() => document.hidden || ages(), 1000);

const path = document.body.dataset.changes;
const fresh = document.getElementById("fresh");
let source = null;
let wait = 0;

const said = (text, bad) => {
  let word = fresh.querySelector("span");
  if (!word) {
    word = document.createElement("span");
    fresh.append(" ", word);
  }
  word.textContent = text;
  fresh.classList.toggle("stale", bad);
};

// using reports whether somebody is at something on the page, or nobody sees it: then it stays as it is.
const using = () => document.hidden || document.activeElement !== document.body || !document.getSelection().isCollapsed || document.querySelector("details[open]");

// renew loads the page again, at most once in five seconds, and not while somebody is at it. It keeps the place of
// the scroll bar. A page that shows the past, or costs much, only says that something has changed.
const renew = () => {
  clearTimeout(wait);
  const quiet = "quiet" in document.body.dataset;
  if (quiet || using()) {
    said("Something has changed since; load the page again to see it.", true);
    if (!quiet) wait = setTimeout(renew, 5000);
    return;
  }
  said("Live.", false); // though the log grows all the time
  wait = setTimeout(() => (using() ? renew() : location.reload()), Math.max(0, 5000 - performance.now()));
};

const listen = () => {
  if (!path || source || document.hidden) return;
  source = new EventSource(path);
  source.addEventListener("here", () => said("Live.", false));
  source.addEventListener("changed", renew);
  source.addEventListener("away", () => said("The database does not answer; this is old.", true));
  source.onerror = () => {
    said("The console does not answer; this is old.", true);
    if (source?.readyState !== EventSource.CLOSED) return;
    rest(); // it does not try again by itself
    setTimeout(listen, 10000);
  };
};
const rest = () => {
  source?.close();
  source = null;
};
// A page about work that goes on loads itself again until that has ended.
if ("again" in document.body.dataset) setInterval(() => using() || location.reload(), 2000);
document.addEventListener("visibilitychange", () => (document.hidden ? rest() : listen()));
listen();
