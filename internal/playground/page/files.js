// What can be saved: a text, or all generated files as one archive.

/** save lets the browser save bytes under a name. */
export function save(name, data, type = "text/plain") {
  const a = document.createElement("a");
  a.href = URL.createObjectURL(new Blob([data], { type }));
  a.download = name;
  a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 10_000);
}

/** tar makes an archive of files {name, text} in a folder. */
export function tar(folder, files) {
  const encoder = new TextEncoder(), parts = [];
  for (const { name, text } of files) {
    const data = encoder.encode(text), head = new Uint8Array(512);
    const put = (at, s) => head.set(encoder.encode(s), at);
    put(0, `${folder}/${name}`);
    put(100, "0000644\0" + "0000000\0" + "0000000\0" + data.length.toString(8).padStart(11, "0") + "\0" + "00000000000\0" + "        0");
    put(257, "ustar\0" + "00");
    put(148, head.reduce((sum, b) => sum + b, 0).toString(8).padStart(6, "0") + "\0 ");
    parts.push(head, data, new Uint8Array((512 - (data.length % 512)) % 512));
  }
  parts.push(new Uint8Array(1024));
  return new Blob(parts).stream().pipeThrough(new CompressionStream("gzip"));
}
