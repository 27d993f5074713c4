// A link holds the whole machine, packed, behind the #: no server sees it.

const through = async (bytes, stream) => new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());

/** pack returns the fragment of a text. */
export async function pack(text) {
  const bytes = await through(new TextEncoder().encode(text), new CompressionStream("deflate-raw"));
  let letters = "";
  for (let i = 0; i < bytes.length; i += 4096) letters += String.fromCharCode(...bytes.subarray(i, i + 4096));
  return "#m=" + btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

const most = 1 << 20; // what a specification may have

/** unpack returns the text of a fragment, or null where it holds none. */
export async function unpack(fragment) {
  if (!fragment.startsWith("#m=")) return null;
  try {
    const letters = atob(fragment.slice(3).replaceAll("-", "+").replaceAll("_", "/"));
    const stream = new Blob([Uint8Array.from(letters, (c) => c.charCodeAt(0))]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    const parts = [];
    let size = 0;
    for (const reader = stream.getReader(); ;) {
      const { done, value } = await reader.read();
      if (done) break;
      if ((size += value.length) > most) throw new Error("too large");
      parts.push(value);
    }
    return new TextDecoder("utf-8", { fatal: true }).decode(await new Blob(parts).arrayBuffer());
  } catch {
    throw new Error("the link is damaged: it holds no machine that can be read");
  }
}
