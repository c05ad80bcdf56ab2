import { gunzipSync, inflateSync } from "node:zlib";

export default async function ({ ask, see, fetch, open, connect }) {
  await ask("GET /", { headers: { "content-type": "text/plain; charset=UTF-8", "x-request-id": "the-id" }, body: "Hello, world!" });
  await ask("GET /?name=J%C3%BCrgen%20X", { body: "Hello, Jürgen X!" });
  await ask("HEAD /", { body: "" });
  await ask("GET /query?a=1&a=2&b=%26", { body: { one: "1", all: ["1", "2"], every: { a: "1", b: "&" } } });
  await ask(
    "GET /header",
    { headers: { "x-sent": "yes", "user-agent": "test" } },
    { status: 201, headers: { "x-one": "1", "x-many": "a, b" }, body: "yes test" },
  );
  await ask("GET /redirect", { status: 303, headers: { location: "/?name=redirected" } });
  await ask("GET /wait", { body: { context: "function" } });
  await ask("POST /text", { body: "größe" }, { body: "GRÖSSE" });
  await ask("POST /json", { body: { a: [1, null] } }, { body: { got: { a: [1, null] } } });
  await ask(
    "POST /json",
    { name: "broken JSON", headers: { "content-type": "application/json" }, body: "{" },
    { status: 500, body: /^\{"error":"/ },
  );
  await ask(
    "POST /form",
    { headers: { "content-type": "application/x-www-form-urlencoded" }, body: "a=1&a=2&b.c=d+e" },
    { body: { a: ["1", "2"], b: { c: "d e" }, file: null } },
  );
  const part = (head, text) => `--XX\r\nContent-Disposition: form-data; ${head}\r\n\r\n${text}\r\n`;
  const form = `${part('name="a"', "ä")}${part('name="file"; filename="f.txt"\r\nContent-Type: text/x-y', "content")}--XX--\r\n`;
  await ask(
    "POST /form",
    { name: "multipart form", headers: { "content-type": "multipart/form-data; boundary=XX" }, body: form },
    { body: { a: "ä", file: ["f.txt", "text/x-y", "content"] } },
  );
  await ask("POST /bytes", { body: Buffer.from([255, 0, 1]) }, { headers: { "content-type": "application/x-bytes" }, body: "0100ff" });
  await ask("POST /again", { body: { a: 1 } }, { body: ['{"a":1}', { a: 1 }, { a: 1 }] });
  await ask("GET /fails", { status: 500, body: { error: "on purpose", path: "/fails" } });
  await ask("GET /teapot", { status: 418, body: "short and stout" });
  await ask("GET /own-answer", { status: 401, headers: { "www-authenticate": "Tea" }, body: "own answer" });
  await ask("GET /nowhere", { status: 404, body: { missing: "/nowhere" } });
  await ask("POST /", { status: 404, body: { missing: "/" } });

  for (const router of ["linear", "pattern", "trie", "smart", "quick", "tiny"]) {
    await ask(`GET /routers/${router}/static`, { body: "static" });
    await ask(`GET /routers/${router}/users/a%20b`, { body: "user a b" });
    await ask(`GET /routers/${router}/users/7/posts/12`, { body: { id: "7", post: "12" } });
    await ask(`GET /routers/${router}/users/7/posts/x`, { status: 404 });
    await ask(`GET /routers/${router}/files/a/b.txt`, { body: "file a/b.txt" });
    await ask(`GET /routers/${router}/maybe`, { body: "maybe not" });
    await ask(`GET /routers/${router}/maybe/so`, { body: "maybe so" });
    await ask(`PUT /routers/${router}/on`, { body: "on PUT" });
    await ask(`GET /routers/${router}/on`, { status: 404 });
    await ask(`DELETE /routers/${router}/all`, { body: "all DELETE" });
  }

  const expires = /Expires=\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT/g;
  await ask(
    "GET /cookies/set",
    { hide: [expires] },
    {
      headers: {
        "set-cookie": [
          "plain=a%20value%3B%20with%3Dsigns; Path=/",
          /^full=1; Max-Age=1000; Domain=example.test; Path=\/cookies; Expires=[\w:, ]+ GMT; HttpOnly; Secure; SameSite=Strict; Priority=High; Partitioned$/,
          "__Host-host=2; Path=/; Secure",
        ],
      },
      body: "generated=3; Path=/",
    },
  );
  await ask("GET /cookies", { headers: { cookie: "a=1; b=%C3%A4; c" } }, { body: { a: "1", b: "ä" } });
  const signed = await ask("GET /cookies/sign", { headers: { "set-cookie": [/^signed=who%20I%20am\.[\w%]{40,}; Path=\/$/] } });
  const cookie = signed?.headers["set-cookie"]?.[0].split(";")[0];
  await ask("GET /cookies/signed", { headers: { cookie } }, { body: '"who I am"' });
  await ask("GET /cookies/signed", { name: "a forged cookie", headers: { cookie: cookie?.replace("who", "why") } }, { body: "false" });
  await ask(
    "GET /cookies/delete",
    { headers: { cookie: "plain=x" } },
    { headers: { "set-cookie": ["plain=; Max-Age=0; Path=/"] }, body: '"x"' },
  );

  const token = (await ask("GET /jwt/sign", { body: /^eyJ[\w-]+\.[\w-]+\.[\w-]{43}$/ }))?.body;
  for (const algorithm of ["HS256", "HS384", "HS512"])
    await ask(`GET /jwt/sign/${algorithm}`, {
      body: { token: /^eyJ/, payload: { sub: algorithm }, decoded: { alg: algorithm, typ: "JWT" } },
    });
  for (const algorithm of ["ES256", "RS256", "EdDSA"])
    await ask(`GET /jwt/pair/${algorithm}`, { body: { payload: { sub: algorithm }, refused: "JwtTokenSignatureMismatched" } });
  await ask("GET /jwt/expired", { body: '"JwtTokenExpired"' });
  await ask("GET /jwt/jwk", { body: [200, { sub: "by a key set" }, 401] });
  await ask(
    "GET /jwt/private/me",
    { headers: { authorization: `Bearer ${token}` } },
    { body: { sub: "ada", role: "admin", exp: 4102444800 } },
  );
  await ask("GET /jwt/private/me", { status: 401, headers: { "www-authenticate": /^Bearer realm="http:\/\/HOST/ }, body: "Unauthorized" });
  await ask("GET /jwt/private/me", { name: "a forged token", headers: { authorization: `Bearer ${token}x` } }, { status: 401 });

  await ask("GET /with/order", { headers: { "x-order": "b out;a out;" }, body: ["a in", "b in"] });
  await ask(
    "GET /with/cors",
    { headers: { origin: "https://b.test" } },
    { headers: { "access-control-allow-origin": "https://b.test", "access-control-expose-headers": "X-B" }, body: "shared" },
  );
  await ask(
    "GET /with/cors",
    { name: "another origin", headers: { origin: "https://c.test" } },
    { headers: { "access-control-allow-origin": undefined } },
  );
  await ask(
    "OPTIONS /with/cors",
    { headers: { origin: "https://a.test", "access-control-request-method": "PUT" } },
    { status: 204, headers: { "access-control-allow-methods": "GET,PUT", "access-control-max-age": "60", vary: /Origin/ } },
  );
  const etag = (await ask("GET /with/etag", { headers: { etag: /^"[0-9a-f]{40}"$/ } }))?.headers.etag;
  await ask("GET /with/etag", { name: "not modified", headers: { "if-none-match": etag } }, { status: 304, body: "" });
  await ask("GET /with/weak", { headers: { etag: /^W\/"/ } });
  const basic = (text) => ({ authorization: `Basic ${Buffer.from(text).toString("base64")}` });
  await ask("GET /with/basic", { status: 401, headers: { "www-authenticate": 'Basic realm="Secure Area"' } });
  await ask("GET /with/basic", { name: "a user", headers: basic("ada:lovelace") }, { body: "known" });
  await ask("GET /with/basic", { name: "a wrong password", headers: basic("ada:byron") }, { status: 401 });
  await ask("GET /with/bearer", { name: "a bearer", headers: { authorization: "Bearer token-2" } }, { body: "borne" });
  await ask(
    "GET /with/bearer",
    { name: "a wrong bearer", headers: { authorization: "Bearer x" } },
    { status: 401, headers: { "www-authenticate": /invalid_token/ } },
  );
  await ask("POST /with/limit", { body: "short" }, { body: "short" });
  await ask("POST /with/limit", { name: "a long body", body: "much too long" }, { status: 413, body: "too long" });
  await ask(
    "POST /with/limit",
    { name: "a long body in chunks", headers: { "transfer-encoding": "chunked" }, body: "much too long" },
    { status: 413, body: "too long" },
  );
  await ask("GET /with/secure", {
    headers: {
      "x-frame-options": "SAMEORIGIN",
      "strict-transport-security": /^max-age=/,
      "content-security-policy": "default-src 'self'; script-src 'self' https://scripts.test",
      "permissions-policy": "camera=(), geolocation=(self)",
    },
  });
  await ask(
    "GET /with/nonce",
    { hide: [/nonce-[\w+/=]+/g] },
    { headers: { "content-security-policy": /^script-src 'nonce-[\w+/=]{20,}'$/ }, body: "string" },
  );
  await ask("POST /with/csrf", { headers: { origin: "https://a.test", "content-type": "text/plain" } }, { body: "trusted" });
  await ask(
    "POST /with/csrf",
    { name: "a forged form", headers: { origin: "https://evil.test", "content-type": "text/plain" } },
    { status: 403 },
  );
  await ask("GET /with/pretty?pretty", { body: '{\n  "a": [\n    1,\n    {\n      "b": 2\n    }\n  ]\n}' });
  await ask("GET /with/powered", { headers: { "x-powered-by": "Hono" } });
  await ask("GET /with/slow", { status: 408, body: "too slow" });
  await ask("GET /with/language", { headers: { "accept-language": "fr-CH, de;q=0.9" } }, { body: /^(fr|de)$/ });
  await ask("GET /with/language?lang=de", { body: "de" });
  await ask("GET /with/context", { body: "/with/context" });
  await ask("GET /with/some/open", { body: ["open", []] });
  await ask("GET /with/some/closed", { status: 401 });
  await ask(
    "GET /with/some/closed",
    { name: "closed, with a token", headers: { authorization: "Bearer t" } },
    { body: ["closed", ["every in"]] },
  );
  await ask("GET /with/slash/trim/x/", { status: 301, headers: { location: /\/with\/slash\/trim\/x$/ } });
  await ask("GET /with/slash/append/x", { status: 301, headers: { location: /\/with\/slash\/append\/x\/$/ } });
  await ask(
    "POST /with/override/posts",
    { headers: { "content-type": "application/x-www-form-urlencoded" }, body: "_method=DELETE" },
    { body: "deleted" },
  );
  await ask(
    "POST /with/override/posts",
    { name: "no override", headers: { "content-type": "application/x-www-form-urlencoded" }, body: "a=b" },
    { body: "posted" },
  );
  // The runtime compresses once more what says that it is gzip.
  for (const coding of ["gzip", "deflate"]) {
    const { headers, body } = await fetch("/with/compress", { headers: { "accept-encoding": coding } });
    await see(
      `compressed with ${coding}`,
      [headers["content-encoding"], headers.vary, unpacked(body, coding)],
      [coding, "Accept-Encoding", "again and again. ".repeat(200)],
    );
    if (coding === "gzip") await see("the head of gzip", body.slice(0, 20), "1f8b0800000000000003");
  }
  await ask(
    "GET /with/compress/none",
    { headers: { "accept-encoding": "gzip" } },
    { headers: { "content-encoding": undefined }, body: "short" },
  );

  await ask("GET /pages/html", {
    headers: { "content-type": "text/html; charset=UTF-8" },
    body: "<p>&lt;escaped&gt; &amp; safe</p>\n        <hr><i>1</i><i>2</i>",
  });
  await ask("GET /pages/jsx", {
    body: '<ul><li title="&quot;a&quot;">a</li><li title="&quot;&lt;b&gt;&quot;">&lt;b&gt;</li><li title="&quot;null&quot;"></li><li title="&quot;false&quot;"></li><li title="&quot;3&quot;">3</li><li style="color:red;margin-top:3px"><em>raw</em></li></ul>',
  });
  await ask("GET /pages/css", {
    body: /^<html lang="en"><head><style id="hono-css">\.(css-\d+)\{font-size:2em;animation:(css-\d+) 1s\}@keyframes \2\{from\{rotate:0\}to\{rotate:1turn\}\}<\/style><\/head><body class="\1">styled<\/body><\/html>$/,
  });
  await ask("GET /pages/layout/home", {
    body: '<!DOCTYPE html><html lang="en"><title>home</title><b class="dark">/pages/layout/home</b></html>',
  });
  await ask("GET /pages/boundary", { body: /caught a broken part/ });
  await ask("GET /pages/accepts", { headers: { accept: "application/json, text/html;q=0.5" } }, { body: "application/json" });
  const page = await open("/pages/suspense");
  const [shell, soon, late] = [await page.until(/waiting too/), await page.until(/soon/), await page.rest()];
  await see(
    "a page comes in parts",
    [shell.includes("<p>late"), soon.includes("<p>late"), /<p>late<\/p>/.test(late)],
    [false, false, true],
  );

  await ask("GET /streams/bytes", { body: "abcdef" });
  const text = await open("/streams/text");
  await see(
    "a stream comes in parts",
    [text.headers["content-type"], await text.until(/first\n/), await text.rest()],
    ["text/plain; charset=UTF-8", "first\n", "second"],
  );
  await ask("GET /streams/events", {
    headers: { "content-type": "text/event-stream", "cache-control": "no-cache" },
    body: [0, 1, 2].map((id) => `event: tick\ndata: message ${id}\ndata: of two lines\nid: ${id}\nretry: 10\n\n`).join(""),
  });
  await ask("GET /streams/fails", { body: "before; caught in the middle" });

  await ask("POST /validate/json", { body: { title: "Momo", stars: "4" } }, { status: 201, body: { title: "Momo", stars: 4, tags: [] } });
  await ask(
    "POST /validate/json",
    { name: "invalid JSON", body: { title: "M", stars: 9 } },
    { status: 400, body: (text) => JSON.stringify(text).includes("too_small") },
  );
  await ask("POST /validate/json", { name: "another type", headers: { "content-type": "text/plain" }, body: "title" }, { status: 400 });
  await ask(
    "POST /validate/form",
    { headers: { "content-type": "application/x-www-form-urlencoded" }, body: "title=Momo&stars=3" },
    { body: { title: "Momo", stars: 3 } },
  );
  await ask("GET /validate/query?page=2&q=a&q=b", { body: { page: 2, q: ["a", "b"] } });
  await ask("GET /validate/query?page=x", { status: 400 });
  await ask("GET /validate/param/0193fd0a-31a0-7b8e-9a43-0f5f3b7f8a11", { body: { id: "0193fd0a-31a0-7b8e-9a43-0f5f3b7f8a11" } });
  await ask("GET /validate/param/x", { status: 400 });
  await ask("GET /validate/cookie", { headers: { cookie: "session=s1" } }, { body: { session: "s1" } });
  await ask("POST /validate/own", { headers: { "x-key": "open" }, body: { n: 1 } }, { body: { key: "open", n: 2 } });
  await ask("POST /validate/own", { name: "no key", body: { n: 1 } }, { status: 403, body: "no key" });
  await ask(
    "POST /validate/own",
    { name: "no number", headers: { "x-key": "open" }, body: { n: "1" } },
    { status: 400, body: { wrong: { n: "1" } } },
  );

  await ask("GET /client", {
    body: {
      url: "http://books.test/books/7",
      read: { id: "7", loud: "yes" },
      made: [201, { title: "Momo" }],
      tested: { id: "a b", loud: null },
    },
  });

  const socket = await connect("/sockets/echo?prefix=said");
  socket.send("text", "one");
  socket.send("binary", Buffer.from([1, 2, 3]));
  const frames = [await socket.next(), await socket.next()];
  socket.send("text", "close");
  frames.push(await socket.next());
  socket.close(4000, "as asked");
  await see("a WebSocket echoes", frames, ["text said: one", "binary 010203", "close 4000 as asked"]);
  socket.destroy();
  await ask("GET /sockets/echo?prefix=x", { name: "no upgrade", headers: {} }, { status: 404 });
}

function unpacked(hex, coding) {
  const bytes = Buffer.from(hex, "hex");
  return (coding === "gzip" ? gunzipSync(gunzipSync(bytes)) : inflateSync(bytes)).toString();
}
