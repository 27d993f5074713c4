// Searches the index that Pagefind made of the pages. Nothing is asked of another host.
const root = new URL(document.body.dataset.root || "./", location.href);
const form = document.getElementById("search");
const results = document.getElementById("results");
let index, asked = 0;

form.hidden = false;
form.addEventListener("submit", (e) => { e.preventDefault(); find(); });
form.addEventListener("input", find);
document.addEventListener("keydown", (e) => {
  if (e.key === "Escape" && !results.hidden) { results.hidden = true; form.q.focus(); }
});

async function find() {
  const n = ++asked, words = form.q.value.trim();
  if (words === "") { results.hidden = true; return; }
  index ??= await import(new URL("pagefind/pagefind.js", root));
  const { results: all } = await index.search(words);
  const pages = await Promise.all(all.slice(0, 8).map((r) => r.data()));
  if (n !== asked) return; // a later one is on its way
  results.replaceChildren();
  if (pages.length === 0) results.textContent = `Nothing found for “${words}”.`;
  for (const p of pages) {
    const hit = p.sub_results?.[0] ?? p;
    const a = document.createElement("a");
    a.href = hit.url;
    a.textContent = p.meta.title;
    const text = document.createElement("p");
    text.innerHTML = hit.excerpt; // Pagefind's: escaped, with <mark>
    results.append(a, text);
  }
  results.hidden = false;
}
