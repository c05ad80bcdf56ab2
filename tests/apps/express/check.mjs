export default async function ({ ask, see, open }) {
  await ask("GET /", {
    headers: { "content-type": "text/html; charset=utf-8", etag: /^W\/"/, "x-powered-by": "Express" },
    body: "Hello, world!",
  });
  await ask("HEAD /", { headers: { etag: /^W\/"/ }, body: "" });
  await ask("GET /users/a%20b?x=1&x=2&y", {
    body: { params: { id: "a b" }, query: { x: ["1", "2"], y: "" }, path: "/users/a%20b", secure: false },
  });
  await ask("GET /users/7/posts", { body: { params: { id: "7", tab: "posts" }, query: {}, path: "/users/7/posts", secure: false } });
  await ask("GET /files/a/b.txt", { headers: { "content-type": "text/plain; charset=utf-8" }, body: "a > b.txt" });
  await ask(
    "PUT /request",
    {
      headers: { accept: "application/json", "content-type": "application/json", "x-sent": "yes", "x-requested-with": "XMLHttpRequest" },
      body: "{}",
    },
    {
      body: { method: "PUT", originalUrl: "/request", httpVersion: "1.1", xhr: true, accepts: "json", is: "json", sent: "yes" },
    },
  );

  await ask("POST /json", { body: { a: [1, "ü"] } }, { status: 201, headers: { "x-a": "1, 2" }, body: { got: { a: [1, "ü"] } } });
  await ask("POST /json", { name: "broken JSON", headers: { "content-type": "application/json" }, body: "{" }, { status: 400 });
  await ask("POST /json", { name: "a long body", body: { a: "x".repeat(200) } }, { status: 413 });
  await ask(
    "POST /form",
    { headers: { "content-type": "application/x-www-form-urlencoded" }, body: "a[]=1&a[]=2&b[c]=d+e" },
    { body: { a: ["1", "2"], b: { c: "d e" } } },
  );
  await ask("POST /text", { headers: { "content-type": "text/plain" }, body: "größe" }, { body: "GRÖSSE" });
  await ask(
    "POST /raw",
    { headers: { "content-type": "application/octet-stream" }, body: Buffer.from([255, 0, 1]) },
    { headers: { "content-type": "application/octet-stream" }, body: "0100ff" },
  );
  const part = (head, text) => `--XX\r\nContent-Disposition: form-data; ${head}\r\n\r\n${text}\r\n`;
  const upload = (text) => ({
    headers: { "content-type": "multipart/form-data; boundary=XX" },
    body: `${part('name="a"', "ä")}${part('name="file"; filename="f.txt"\r\nContent-Type: text/x-y', text)}--XX--\r\n`,
  });
  await ask("POST /upload", upload("content"), {
    body: { fields: { a: "ä" }, file: { originalname: "f.txt", mimetype: "text/x-y", size: 7, text: "content" } },
  });
  await ask("POST /upload", { name: "a long file", ...upload("x".repeat(2000)) }, { status: 500 });
  await ask(
    "POST /echo",
    { body: "echo ".repeat(50_000) },
    { headers: { "content-type": "application/octet-stream" }, body: "echo ".repeat(50_000) },
  );

  await ask(
    "GET /cookies/set",
    { hide: [/Expires=\w{3}, \d\d \w{3} 2\d{3} [\d:]+ GMT/g] },
    {
      status: 204,
      headers: {
        "set-cookie": [
          /^a=%C3%A4%20b; Max-Age=0; Path=\/; Expires=.*; HttpOnly; SameSite=Lax$/,
          /^s=s%3Asigned\.[\w%]+; Path=\/$/,
          "old=; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
        ],
      },
    },
  );
  const signed = "s%3Asigned.%2F";
  await ask(
    "GET /cookies",
    { headers: { cookie: `a=1; b=%C3%A4; j=j%3A%7B%22x%22%3A1%7D; s=${signed}` } },
    { body: { cookies: { a: "1", b: "ä", j: { x: 1 } }, signed: { s: false } } },
  );

  const stream = await open("/stream");
  await see("a stream comes in parts", [await stream.until(/first\n/), await stream.rest()], ["first\n", "second"]);
  await ask("GET /pipe", { body: "abc" });
  await ask("GET /redirect", { status: 301, headers: { location: "/elsewhere?a=1" } });
  await ask("GET /format", { headers: { accept: "application/json" } }, { headers: { vary: "Accept" }, body: { json: true } });
  await ask("GET /format", { name: "another format", headers: { accept: "text/html" } }, { body: "<p>html</p>" });
  await ask("GET /format", { name: "no format", headers: { accept: "image/png" } }, { status: 406 });
  const etag = (await ask("GET /etag", { headers: { etag: /^W\/"13-/, "cache-control": "max-age=60" } }))?.headers.etag;
  await ask("GET /etag", { name: "not modified", headers: { "if-none-match": etag } }, { status: 304, body: "" });
  await ask("GET /jsonp?callback=call", { headers: { "content-type": "text/javascript; charset=utf-8" }, body: /call\(\{"a":1\}\);$/ });
  await ask("GET /attachment", {
    headers: {
      "content-disposition": "attachment; filename=\"?.txt\"; filename*=UTF-8''%E2%82%AC.txt",
      link: '</2>; rel="next"',
      vary: "Accept",
    },
  });

  await ask(
    "GET /shared",
    { headers: { origin: "https://a.test" } },
    { headers: { "access-control-allow-origin": "https://a.test", "access-control-allow-credentials": "true" }, body: "shared" },
  );
  await ask(
    "OPTIONS /shared",
    { headers: { origin: "https://a.test", "access-control-request-method": "PUT" } },
    { status: 204, headers: { "access-control-max-age": "60" }, body: "" },
  );
  await ask("GET /secure", { headers: { "content-security-policy": /^default-src 'self';/, "x-powered-by": undefined }, body: "secure" });
  await ask("GET /api/v1/items/21", { body: { trace: ["/api/v1", "/items/21"], n: 42, params: { version: "v1", n: "21" } } });

  await ask("GET /fails", {
    status: 500,
    headers: { "content-type": "text/html; charset=utf-8" },
    body: /<pre>Internal Server Error<\/pre>/,
  });
  await ask("GET /fails/later", { status: 422, body: /<pre>Unprocessable Entity<\/pre>/ });
  await ask("GET /handled", { status: 400, body: { error: "for the handler" } });
  await ask("GET /nowhere", { status: 404, body: /<pre>Cannot GET \/nowhere<\/pre>/ });
  await ask("POST /nowhere", { body: "unread" }, { status: 404, body: /<pre>Cannot POST \/nowhere<\/pre>/ });
}
