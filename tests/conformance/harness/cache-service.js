// What stands behind the Cache API of workerd, which only speaks HTTP with it: GET with only-if-cached looks up, PUT with a whole HTTP
// response as its body stores, PURGE deletes. The rules are those of the platform's documentation.

const store = new Map();

export default {
  async fetch(request) {
    const key = `${request.headers.get("cf-cache-namespace") ?? ""} ${request.url.split("#")[0]}`;
    if (request.method === "PUT") return put(key, request);
    if (request.method === "PURGE") return new Response(null, { status: store.delete(key) ? 200 : 404 });
    const found = store.get(key);
    if (!found || (found.until !== undefined && found.until <= Date.now()))
      return new Response(null, { status: 504, headers: { "cf-cache-status": "MISS" } });
    const headers = new Headers(found.headers);
    headers.set("cf-cache-status", "HIT");
    const etag = found.headers.find(([name]) => name.toLowerCase() === "etag")?.[1];
    if (etag && request.headers.get("if-none-match") === etag) return new Response(null, { status: 304, headers });
    const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.get("range") ?? "");
    if (range) {
      const end = range[2] ? Number(range[2]) + 1 : found.body.length;
      const part = found.body.subarray(Number(range[1]), end);
      headers.set("content-range", `bytes ${range[1]}-${Number(range[1]) + part.length - 1}/${found.body.length}`);
      headers.set("content-length", String(part.length));
      return new Response(part, { status: 206, headers });
    }
    return new Response(found.body, { status: found.status, headers });
  },
};

async function put(key, request) {
  const bytes = new Uint8Array(await request.arrayBuffer());
  const text = new TextDecoder("latin1").decode(bytes);
  const end = text.indexOf("\r\n\r\n");
  const [line, ...lines] = text.slice(0, end).split("\r\n");
  const headers = lines
    .map((each) => [each.slice(0, each.indexOf(":")), each.slice(each.indexOf(":") + 1).trim()])
    .filter(([name]) => name.toLowerCase() !== "transfer-encoding");
  const control = headers
    .filter(([name]) => name.toLowerCase() === "cache-control")
    .map(([, value]) => value.toLowerCase())
    .join(",");
  const age = /(?:s-maxage|max-age)=(\d+)/.exec(control)?.[1];
  const isRefused =
    /no-store|private|no-cache/.test(control) || age === "0" || headers.some(([name]) => name.toLowerCase() === "set-cookie");
  if (isRefused) return new Response(null, { status: 204 });
  store.set(key, {
    status: Number(line.split(" ")[1]),
    headers,
    body: body(bytes.subarray(end + 4), text.slice(0, end)),
    until: age && Date.now() + Number(age) * 1000,
  });
  return new Response(null, { status: 204 });
}

/** Takes chunks apart, if there are any: workerd says so also when there are not. */
function body(bytes, head) {
  if (!/transfer-encoding: chunked/i.test(head)) return bytes;
  const parts = [];
  for (let at = 0; ;) {
    const end = bytes.indexOf(13, at);
    const length = parseInt(new TextDecoder().decode(bytes.subarray(at, end)), 16);
    if (Number.isNaN(length)) return bytes;
    if (!length) break;
    parts.push(bytes.subarray(end + 2, end + 2 + length));
    at = end + 4 + length;
  }
  return new Uint8Array(parts.flatMap((part) => [...part]));
}
