// What is on the wire, and what a client does to a Worker.

const cases = {};
function test(name, run, expected) {
  cases[name] = { run, expected };
}
export default cases;

const json = (answer) => JSON.parse(Buffer.from(answer.body, "latin1").toString());

test("GET", async (client) => client.request("/hello"), {
  status: 200,
  statusText: "OK",
  headers: ["content-type: text/plain;charset=UTF-8"],
  body: "hello",
});
test("an empty response", (client) => client.request("/empty"), { status: 200, statusText: "OK", headers: [], body: "" });
test(
  "a body of known length has Content-Length",
  async (client) => (await client.request("/hello", { raw: true })).headers.filter((each) => /length|transfer/.test(each)),
  ["content-length: 5"],
);
test(
  "an empty body has Content-Length 0",
  async (client) => (await client.request("/empty", { raw: true })).headers.filter((each) => /length|transfer/.test(each)),
  ["content-length: 0"],
);
test(
  "a streamed body is chunked",
  async (client) => (await client.request("/stream", { raw: true })).headers.filter((each) => /length|transfer/.test(each)),
  ["transfer-encoding: chunked"],
);
test("a streamed body", async (client) => (await client.request("/stream")).body, "abc");
test(
  "a FixedLengthStream has Content-Length",
  async (client) => (await client.request("/fixed", { raw: true })).headers.filter((each) => /length|transfer/.test(each)),
  ["content-length: 5"],
);
test(
  "a Content-Length of the Worker's own",
  async (client) =>
    client.request("/length", { raw: true }).then((answer) => [answer.body, answer.headers.filter((each) => /length/.test(each))]),
  ["hello", ["content-length: 5"]],
);
test(
  "HEAD",
  async (client) =>
    client
      .request("/hello", { method: "HEAD", raw: true })
      .then((answer) => [answer.status, answer.body, answer.headers.filter((each) => /length|transfer/.test(each))]),
  [200, "", ["content-length: 5"]],
);
for (const status of [200, 201, 204, 205, 304, 400, 404, 418, 500, 503, 599])
  test(`status ${status}`, async (client) => (await client.request(`/status?is=${status}`)).status, status);
test("the reason phrase of a known status", async (client) => (await client.request("/status?is=404")).statusText, "Not Found");
test("the reason phrase given", async (client) => (await client.request("/status?is=404&text=Gone%20Fishing")).statusText, "Gone Fishing");
test("the reason phrase of an unknown status", async (client) => (await client.request("/status?is=599")).statusText, "Server Error");
test(
  "204 has no Content-Length",
  async (client) => (await client.request("/status?is=204", { raw: true })).headers.filter((each) => /length|transfer/.test(each)),
  [],
);
test(
  "304 has no Content-Length",
  async (client) => (await client.request("/status?is=304", { raw: true })).headers.filter((each) => /length|transfer/.test(each)),
  [],
);
test("json", (client) => client.request("/json"), {
  status: 200,
  statusText: "OK",
  headers: ["content-type: application/json"],
  body: '{"a":1}',
});
test("redirect", (client) => client.request("/redirect"), {
  status: 302,
  statusText: "Found",
  headers: ["location: http://example.com/"],
  body: "",
});
test("each Set-Cookie is a line", async (client) => (await client.request("/cookies")).headers, [
  "set-cookie: a=1",
  "set-cookie: b=2",
  "x-a: 1",
  "x-a: 2",
]);
test(
  "the case of header names on the wire",
  async (client) =>
    /x-mixed-case: Value/i.exec(await client.exchange("GET /case HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"))[0].slice(0, 12),
  "X-Mixed-Case",
);
test("a header value in Latin-1", async (client) => (await client.request("/latin1")).headers, ["x-a: Ã©"]);
test("POST", async (client) => json(await client.request("/echo", { method: "POST", body: "hello" })).body, "hello");
test(
  "a chunked upload",
  async (client) => {
    const text = await client.exchange(
      "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
    );
    return JSON.parse(text.slice(text.indexOf("{"), text.lastIndexOf("}") + 1)).body;
  },
  "abcde",
);
for (const method of ["GET", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"])
  test(`method ${method}`, async (client) => json(await client.request("/echo", { method })).method, method);
test(
  "repeated request headers are joined",
  async (client) => json(await client.request("/echo", { headers: { "X-A": ["1", "2"] } })).headers,
  [["x-a", "1, 2"]],
);
test("request cookies are joined", async (client) => json(await client.request("/echo", { headers: { cookie: ["a=1", "b=2"] } })).headers, [
  ["cookie", "a=1; b=2"],
]);
test(
  "the query and the path are not changed",
  async (client) => json(await client.request("/echo?a=%20&b=+&%zz")).path,
  "/echo?a=%20&b=+&%zz",
);
test(
  "request.url: dots and escapes",
  async (client) => (await client.request("/a/../url?x=%41")).body.replace(/:\d+/, ""),
  "http://127.0.0.1/a/../url?x=%41",
);
test("request.url: two slashes", async (client) => (await client.request("//url")).status, 404);
test(
  "request.url: from the Host header",
  async (client) => (await client.request("/url", { headers: { host: "example.com" } })).body,
  "http://example.com/url",
);
test(
  "request.url: from an absolute target",
  async (client) =>
    (await client.exchange("GET http://example.com/url HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")).split("\r\n\r\n")[1],
  "http://a/url",
);
test("an uncaught exception", (client) => client.request("/fails"), {
  status: 500,
  statusText: "Internal Server Error",
  headers: [],
  body: "Internal Server Error",
});
test("a rejection", async (client) => (await client.request("/rejects")).status, 500);
test("a handler that returns nothing", async (client) => (await client.request("/nothing")).status, 500);
test("a handler that returns a string", async (client) => (await client.request("/string")).status, 500);
test("Response.error()", async (client) => (await client.request("/error")).status, 500);
test("a used response", async (client) => (await client.request("/used")).status, 500);
test("no such path", async (client) => (await client.request("/absent")).status, 404);
test(
  "content-encoding: gzip is applied to a plain body",
  async (client) => {
    const { body, headers } = await client.request("/gzip", { headers: { "accept-encoding": "gzip" } });
    return [body.slice(0, 2) === "\x1f\x8b", headers];
  },
  [true, ["content-encoding: gzip", "content-type: text/plain;charset=UTF-8"]],
);
test(
  "content-encoding: with encodeBody manual",
  async (client) => (await client.request("/encoded", { headers: { "accept-encoding": "gzip" } })).body.slice(0, 2) === "\x1f\x8b",
  true,
);
test(
  "hop-by-hop headers of a response",
  async (client) =>
    (await client.request("/date", { raw: true })).headers.filter((each) => !/length|^connection: (close|keep-alive)/.test(each)),
  ["date: x", "server: mine"],
);
test(
  "headers the Worker sees",
  async (client) =>
    json(
      await client.request("/expose", {
        headers: { "x-a": "1", accept: "*/*", "accept-encoding": "gzip", te: "x", upgrade: "foo", "keep-alive": "x" },
      }),
    ).filter(([name]) => name !== "host" && name !== "connection"),
  [
    ["accept", "*/*"],
    ["accept-encoding", "gzip"],
    ["keep-alive", "x"],
    ["te", "x"],
    ["upgrade", "foo"],
    ["x-a", "1"],
  ],
);
test(
  "a body that breaks",
  async (client) => {
    const answer = await client.exchange("GET /broken HTTP/1.1\r\nHost: a\r\n\r\n");
    return [answer.startsWith("HTTP/1.1 200"), answer.endsWith("0\r\n\r\n")];
  },
  [false, false],
);
test(
  "waitUntil goes on after the response",
  async (client) => {
    const first = (await client.request("/late")).body;
    const before = json(await client.request("/ended")).length;
    let after = [];
    for (let i = 0; i < 40 && !after.length; i++) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      after = json(await client.request("/ended"));
    }
    return [first, before, after];
  },
  ["early", 0, ["late"]],
);
test(
  "a client that goes away cancels the body",
  async (client) => {
    await client.exchange("GET /endless HTTP/1.1\r\nHost: a\r\n\r\n", /\0{1000}/);
    for (let i = 0; i < 20; i++) {
      const { body } = await client.request("/cancelled");
      if (body === "cancelled") return body;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    return "not cancelled";
  },
  "cancelled",
);
test(
  "keep-alive: two requests on a connection",
  async (client) => {
    const text = await client.exchange("GET /hello HTTP/1.1\r\nHost: a\r\n\r\nGET /json HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    return text.match(/HTTP\/1\.1 \d+/g);
  },
  ["HTTP/1.1 200", "HTTP/1.1 200"],
);
test("HTTP/1.0", async (client) => (await client.exchange("GET /hello HTTP/1.0\r\nHost: a\r\n\r\n")).split("\r\n")[0], "HTTP/1.0 200 OK");
test(
  "no Host header",
  async (client) => (await client.exchange("GET /hello HTTP/1.1\r\nConnection: close\r\n\r\n")).split("\r\n")[0],
  "HTTP/1.1 400 Bad Request",
);
test("a malformed request", async (client) => (await client.exchange("NONSENSE\r\n\r\n")).split("\r\n")[0], "HTTP/1.1 400 Bad Request");
test(
  "Expect: 100-continue",
  async (client) =>
    (await client.exchange("POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi"))
      .split("\r\n")
      .filter((line) => line.startsWith("HTTP")),
  ["HTTP/1.1 100 Continue", "HTTP/1.1 200 OK"],
);

/** The status line of the answer to raw bytes, or how the connection ended. */
const raw = async (client, text) => (await client.exchange(text, /\r\n\r\n/)).split("\r\n")[0] || "closed";
const head = "GET /hello HTTP/1.1\r\nHost: a\r\nConnection: close\r\n";
test("raw: a header without a colon", (client) => raw(client, `${head}nonsense\r\n\r\n`), "HTTP/1.1 400 Bad Request");
test("raw: a header name with a space", (client) => raw(client, `${head}a b: c\r\n\r\n`), "HTTP/1.1 400 Bad Request");
test("raw: a space before the colon", (client) => raw(client, `${head}a : c\r\n\r\n`), "HTTP/1.1 400 Bad Request");
test("raw: a folded header", (client) => raw(client, `${head}a: b\r\n c\r\n\r\n`), "HTTP/1.1 400 Bad Request");
test("raw: a NUL in a header", (client) => raw(client, `${head}a: b\0c\r\n\r\n`), "HTTP/1.1 400 Bad Request");
test("raw: an empty header name", (client) => raw(client, `${head}: c\r\n\r\n`), "HTTP/1.1 400 Bad Request");
test("raw: bare line feeds", (client) => raw(client, "GET /hello HTTP/1.1\nHost: a\nConnection: close\n\n"), "HTTP/1.1 200 OK");
test("raw: a header of 20 kB", (client) => raw(client, `${head}a: ${"x".repeat(20_000)}\r\n\r\n`), "HTTP/1.1 200 OK");
test("raw: a header of 200 kB", (client) => raw(client, `${head}a: ${"x".repeat(200_000)}\r\n\r\n`), "HTTP/1.1 200 OK");
test(
  "raw: 90 headers",
  (client) => raw(client, `${head}${Array.from({ length: 90 }, (_, i) => `a${i}: b\r\n`).join("")}\r\n`),
  "HTTP/1.1 200 OK",
);
test(
  "raw: 1000 headers",
  (client) => raw(client, `${head}${Array.from({ length: 1000 }, (_, i) => `a${i}: b\r\n`).join("")}\r\n`),
  "HTTP/1.1 200 OK",
);
test(
  "raw: a URL of 30 kB",
  (client) => raw(client, `GET /hello?${"x".repeat(30_000)} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`),
  "HTTP/1.1 200 OK",
);
test(
  "raw: two Content-Lengths",
  (client) => raw(client, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\nConnection: close\r\n\r\nxy"),
  "HTTP/1.1 400 Bad Request",
);
test(
  "raw: the same Content-Length twice",
  (client) => raw(client, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nContent-Length: 2\r\nConnection: close\r\n\r\nxy"),
  "HTTP/1.1 200 OK",
);
test(
  "raw: Content-Length and Transfer-Encoding",
  (client) =>
    raw(client, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n0\r\n\r\n"),
  "HTTP/1.1 200 OK",
);
test(
  "raw: a negative Content-Length",
  (client) => raw(client, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\nConnection: close\r\n\r\n"),
  "HTTP/1.1 400 Bad Request",
);
test(
  "raw: Content-Length is no number",
  (client) => raw(client, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\nConnection: close\r\n\r\n"),
  "HTTP/1.1 400 Bad Request",
);
test(
  "raw: an unknown Transfer-Encoding",
  (client) => raw(client, "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: x\r\nConnection: close\r\n\r\n"),
  "HTTP/1.1 400 Bad Request",
);
test(
  "raw: a bad chunk size",
  async (client) =>
    (await raw(client, "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\nzz\r\n")).slice(0, 12),
  "closed",
);
test(
  "raw: chunk extensions and trailers",
  (client) =>
    raw(
      client,
      "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n2;a=b\r\nhi\r\n0\r\nx-trailer: 1\r\n\r\n",
    ),
  "HTTP/1.1 200 OK",
);
test("raw: OPTIONS *", (client) => raw(client, "OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"), "HTTP/1.1 404 Not Found");
test(
  "raw: a method in lower case",
  (client) => raw(client, "get /hello HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"),
  "HTTP/1.1 501 Not Implemented",
);
test(
  "raw: an unknown method",
  (client) => raw(client, "FOO /hello HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"),
  "HTTP/1.1 501 Not Implemented",
);
test(
  "raw: CONNECT",
  (client) => raw(client, "CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\nConnection: close\r\n\r\n"),
  "HTTP/1.1 500 Internal Server Error",
);
test("raw: TRACE", (client) => raw(client, "TRACE /hello HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"), "HTTP/1.1 200 OK");
test(
  "raw: two Host headers",
  (client) => raw(client, "GET /hello HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n"),
  "HTTP/1.1 500 Internal Server Error",
);
test(
  "raw: an empty Host header",
  (client) => raw(client, "GET /hello HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n"),
  "HTTP/1.1 400 Bad Request",
);
test(
  "raw: a Host header that is none",
  (client) => raw(client, "GET /hello HTTP/1.1\r\nHost: a b/c\r\nConnection: close\r\n\r\n"),
  "HTTP/1.1 500 Internal Server Error",
);
test(
  "raw: a target without a slash",
  (client) => raw(client, "GET hello HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"),
  "HTTP/1.1 404 Not Found",
);
test(
  "raw: a target that is not ASCII",
  (client) => raw(client, "GET /h\xe9 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"),
  "HTTP/1.1 404 Not Found",
);
test(
  "raw: HTTP/2.0 in the request line",
  (client) => raw(client, "GET /hello HTTP/2.0\r\nHost: a\r\nConnection: close\r\n\r\n"),
  "HTTP/1.1 400 Bad Request",
);
test(
  "raw: HTTP/1.0 keeps no connection",
  async (client) =>
    (await client.exchange("GET /hello HTTP/1.0\r\nHost: a\r\n\r\nGET /hello HTTP/1.0\r\nHost: a\r\n\r\n")).split("HTTP/1.").length - 1,
  1,
);
test("raw: a line end before the request", (client) => raw(client, `\r\n${head}\r\n`), "HTTP/1.1 200 OK");
test(
  "raw: pipelined requests are answered in order",
  async (client) => {
    const text = await client.exchange(`GET /stream HTTP/1.1\r\nHost: a\r\n\r\nGET /json HTTP/1.1\r\nHost: a\r\n\r\n${head}\r\n`);
    return [text.indexOf("abc".slice(0, 1)) >= 0, text.indexOf('{"a":1}') > 0, text.indexOf('{"a":1}') < text.lastIndexOf("hello")];
  },
  [true, true, true],
);
test(
  "raw: a half-closed connection gets its answer",
  async (client) => {
    const socket = await client.connect();
    socket.setEncoding("latin1");
    socket.end(`${head}\r\n`);
    let text = "";
    for await (const part of socket) text += part;
    return text.split("\r\n")[0];
  },
  "HTTP/1.1 200 OK",
);
test(
  "raw: an upgrade to h2c",
  (client) =>
    raw(
      client,
      `${head.replace("close", "Upgrade, HTTP2-Settings, close")}Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\n\r\n`,
    ),
  "HTTP/1.1 200 OK",
);
test(
  "raw: a WebSocket without a key",
  (client) =>
    raw(client, "GET /hello HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\r\n"),
  "HTTP/1.1 200 OK",
);
test(
  "a response header of 100 kB",
  async (client) => (await client.exchange("GET /large-header HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")).length > 100_000,
  true,
);
test(
  "a response with 300 headers",
  async (client) =>
    (await client.exchange("GET /many-headers HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")).match(/^x-\d+: /gim).length,
  300,
);
test(
  "a gzip answer for a client that does not ask for it",
  async (client) => (await client.request("/gzip")).body.slice(0, 2) === "\x1f\x8b",
  true,
);
test(
  "brotli is applied to a plain body",
  async (client) => {
    const answer = await client.request("/brotli", { headers: { "accept-encoding": "br" } });
    return [answer.body === "hello hello hello", answer.headers.filter((each) => each.startsWith("content-encoding"))];
  },
  [false, ["content-encoding: br"]],
);
test("an unknown content-encoding", async (client) => (await client.request("/odd-encoding")).body, "plain");

/** A text in short: each run of a character and its length. */
const runs = (text) => text.replace(/(.)\1*/gs, (run) => `${run[0]}${run.length} `).trim();
const made = async (client, path) => runs((await client.request(path)).body);
test("a body whose code uses its buffer again", (client) => made(client, "/reused"), "04 14 24 34 44 54 64 74");
test("a body whose code uses its large buffer again", (client) => made(client, "/reused-large"), Array.from({ length: 8 }, (_, i) => `${i}100000`).join(" "));
test(
  "a body of large chunks",
  (client) => made(client, "/bytes-large"),
  Array.from({ length: 8 }, (_, i) => `${i}100000`).join(" "),
);
test("a body of parts of buffers", async (client) => (await client.request("/parts")).body === "0123456789".repeat(100), true);
test(
  "a body of many small chunks",
  async (client) => (await client.request("/small")).body === Array.from({ length: 5000 }, (_, i) => `${i};`).join(""),
  true,
);
test("a body of one huge chunk", (client) => made(client, "/huge"), "A5000000");
test("a body of several kinds of views", async (client) => (await client.request("/views")).body, "cdefbcdfghijklmnop");
test("enqueue takes the buffer of a byte stream's chunk", async (client) => (await client.request("/detached")).body, "ab0");
test(
  "a body that was split",
  (client) => made(client, "/tee"),
  Array.from({ length: 8 }, (_, i) => `${i}50000`).join(" ") + " |1 41 05",
);
test(
  "an upload that goes back",
  async (client) => (await client.request("/back", { method: "POST", body: "x".repeat(3_000_000) })).body.length,
  3_000_000,
);
test(
  "an upload of no known length that goes back",
  async (client) => {
    const text = await client.exchange(
      "POST /back HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
    );
    return text.split("\r\n\r\n").slice(1).join("").replace(/\r\n|^[0-9]+$/gm, "").replace(/[0-9]/g, "");
  },
  "abcde",
);
test(
  "an upload that is read in part does not go back",
  async (client) => (await client.request("/back-partly", { method: "POST", body: "abcdefgh" })).status,
  500,
);
test("a body of small parts of large buffers", (client) => made(client, "/part-views"), "A40000");
test("a body of texts", async (client) => Buffer.from((await client.request("/texts")).body, "latin1").toString(), "hällo");
test("a chunk that is taken away before it is read", async (client) => (await client.request("/taken")).body, "def");
test("a body of views that are not what they say", (client) => made(client, "/own-views"), "A6 B100000");
/** Whether there is a response, what is in it, and whether it is said to be complete. */
const broken = async (client, path, what) => {
  const answer = await client.exchange(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
  return [answer.startsWith("HTTP/1.1 200"), answer.includes(what), answer.endsWith("0\r\n\r\n")];
};
test("a body that fails later: what was before it is sent", (client) => broken(client, "/fails-later", "line 15;"), [true, true, false]);
for (let i = 0; i < 5; i++)
  test(`a body that fails with something odd: ${i}`, (client) => broken(client, `/odd-error-${i}`, "A"), [true, true, false]);
