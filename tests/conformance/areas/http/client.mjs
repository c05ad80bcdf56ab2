// What is on the wire, and what a client does to a Worker.

const cases = {};
function test(name, run, expected) {
  cases[name] = { run, expected };
}
export default cases;

const json = (answer) => JSON.parse(Buffer.from(answer.body, "latin1").toString());

test("GET", async (client) => client.request("/hello"), { status: 200, statusText: "OK", headers: ["content-type: text/plain;charset=UTF-8"], body: "hello" });
test("an empty response", (client) => client.request("/empty"), { status: 200, statusText: "OK", headers: [], body: "" });
test("a body of known length has Content-Length", async (client) => (await client.request("/hello", { raw: true })).headers.filter((each) => /length|transfer/.test(each)), ["content-length: 5"]);
test("an empty body has Content-Length 0", async (client) => (await client.request("/empty", { raw: true })).headers.filter((each) => /length|transfer/.test(each)), ["content-length: 0"]);
test("a streamed body is chunked", async (client) => (await client.request("/stream", { raw: true })).headers.filter((each) => /length|transfer/.test(each)), ["transfer-encoding: chunked"]);
test("a streamed body", async (client) => (await client.request("/stream")).body, "abc");
test("a FixedLengthStream has Content-Length", async (client) => (await client.request("/fixed", { raw: true })).headers.filter((each) => /length|transfer/.test(each)), ["content-length: 5"]);
test("a Content-Length of the Worker's own", async (client) => client.request("/length", { raw: true }).then((answer) => [answer.body, answer.headers.filter((each) => /length/.test(each))]), ["hello", ["content-length: 5"]]);
test("HEAD", async (client) => client.request("/hello", { method: "HEAD", raw: true }).then((answer) => [answer.status, answer.body, answer.headers.filter((each) => /length|transfer/.test(each))]), [200, "", ["content-length: 5"]]);
for (const status of [200, 201, 204, 205, 304, 400, 404, 418, 500, 503, 599]) test(`status ${status}`, async (client) => (await client.request(`/status?is=${status}`)).status, status);
test("the reason phrase of a known status", async (client) => (await client.request("/status?is=404")).statusText, "Not Found");
test("the reason phrase given", async (client) => (await client.request("/status?is=404&text=Gone%20Fishing")).statusText, "Gone Fishing");
test("the reason phrase of an unknown status", async (client) => (await client.request("/status?is=599")).statusText, "Server Error");
test("204 has no Content-Length", async (client) => (await client.request("/status?is=204", { raw: true })).headers.filter((each) => /length|transfer/.test(each)), []);
test("304 has no Content-Length", async (client) => (await client.request("/status?is=304", { raw: true })).headers.filter((each) => /length|transfer/.test(each)), []);
test("json", (client) => client.request("/json"), { status: 200, statusText: "OK", headers: ["content-type: application/json"], body: '{"a":1}' });
test("redirect", (client) => client.request("/redirect"), { status: 302, statusText: "Found", headers: ["location: http://example.com/"], body: "" });
test("each Set-Cookie is a line", async (client) => (await client.request("/cookies")).headers, ["set-cookie: a=1", "set-cookie: b=2", "x-a: 1", "x-a: 2"]);
test("the case of header names on the wire", async (client) => /x-mixed-case: Value/i.exec(await client.exchange("GET /case HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"))[0].slice(0, 12), "X-Mixed-Case");
test("a header value in Latin-1", async (client) => (await client.request("/latin1")).headers, ["x-a: Ã©"]);
test("POST", async (client) => json(await client.request("/echo", { method: "POST", body: "hello" })).body, "hello");
test("a chunked upload", async (client) => {
  const text = await client.exchange("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
  return JSON.parse(text.slice(text.indexOf("{"), text.lastIndexOf("}") + 1)).body;
}, "abcde");
for (const method of ["GET", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"]) test(`method ${method}`, async (client) => json(await client.request("/echo", { method })).method, method);
test("repeated request headers are joined", async (client) => json(await client.request("/echo", { headers: { "X-A": ["1", "2"] } })).headers, [["x-a", "1, 2"]]);
test("request cookies are joined", async (client) => json(await client.request("/echo", { headers: { cookie: ["a=1", "b=2"] } })).headers, [["cookie", "a=1; b=2"]]);
test("the query and the path are not changed", async (client) => json(await client.request("/echo?a=%20&b=+&%zz")).path, "/echo?a=%20&b=+&%zz");
test("request.url: dots and escapes", async (client) => (await client.request("/a/../url?x=%41")).body.replace(/:\d+/, ""), "http://127.0.0.1/a/../url?x=%41");
test("request.url: two slashes", async (client) => (await client.request("//url")).status, 404);
test("request.url: from the Host header", async (client) => (await client.request("/url", { headers: { host: "example.com" } })).body, "http://example.com/url");
test("request.url: from an absolute target", async (client) => (await client.exchange("GET http://example.com/url HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")).split("\r\n\r\n")[1], "http://a/url");
test("an uncaught exception", (client) => client.request("/fails"), { status: 500, statusText: "Internal Server Error", headers: [], body: "Internal Server Error" });
test("a rejection", async (client) => (await client.request("/rejects")).status, 500);
test("a handler that returns nothing", async (client) => (await client.request("/nothing")).status, 500);
test("a handler that returns a string", async (client) => (await client.request("/string")).status, 500);
test("Response.error()", async (client) => (await client.request("/error")).status, 500);
test("a used response", async (client) => (await client.request("/used")).status, 500);
test("no such path", async (client) => (await client.request("/absent")).status, 404);
test("content-encoding: gzip is applied to a plain body", async (client) => {
  const { body, headers } = await client.request("/gzip", { headers: { "accept-encoding": "gzip" } });
  return [body.slice(0, 2) === "\x1f\x8b", headers];
}, [true, ["content-encoding: gzip", "content-type: text/plain;charset=UTF-8"]]);
test("content-encoding: with encodeBody manual", async (client) => (await client.request("/encoded", { headers: { "accept-encoding": "gzip" } })).body.slice(0, 2) === "\x1f\x8b", true);
test("hop-by-hop headers of a response", async (client) => (await client.request("/date", { raw: true })).headers.filter((each) => !/length|^connection: (close|keep-alive)/.test(each)), ["date: x", "server: mine"]);
test("headers the Worker sees", async (client) => json(await client.request("/expose", { headers: { "x-a": "1", accept: "*/*", "accept-encoding": "gzip", te: "x", upgrade: "foo", "keep-alive": "x" } })).filter(([name]) => name !== "host" && name !== "connection"), [["accept", "*/*"], ["accept-encoding", "gzip"], ["keep-alive", "x"], ["te", "x"], ["upgrade", "foo"], ["x-a", "1"]]);
test("a body that breaks", async (client) => {
  const answer = await client.exchange("GET /broken HTTP/1.1\r\nHost: a\r\n\r\n");
  return [answer.startsWith("HTTP/1.1 200"), answer.endsWith("0\r\n\r\n")];
}, [false, false]);
test("waitUntil goes on after the response", async (client) => {
  const first = (await client.request("/late")).body;
  const before = json(await client.request("/ended")).length;
  let after = [];
  for (let i = 0; i < 40 && !after.length; i++) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    after = json(await client.request("/ended"));
  }
  return [first, before, after];
}, ["early", 0, ["late"]]);
test("a client that goes away cancels the body", async (client) => {
  await client.exchange("GET /endless HTTP/1.1\r\nHost: a\r\n\r\n", /\0{1000}/);
  for (let i = 0; i < 20; i++) {
    const { body } = await client.request("/cancelled");
    if (body === "cancelled") return body;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return "not cancelled";
}, "cancelled");
test("keep-alive: two requests on a connection", async (client) => {
  const text = await client.exchange("GET /hello HTTP/1.1\r\nHost: a\r\n\r\nGET /json HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  return text.match(/HTTP\/1\.1 \d+/g);
}, ["HTTP/1.1 200", "HTTP/1.1 200"]);
test("HTTP/1.0", async (client) => (await client.exchange("GET /hello HTTP/1.0\r\nHost: a\r\n\r\n")).split("\r\n")[0], "HTTP/1.0 200 OK");
test("no Host header", async (client) => (await client.exchange("GET /hello HTTP/1.1\r\nConnection: close\r\n\r\n")).split("\r\n")[0], "HTTP/1.1 400 Bad Request");
test("a malformed request", async (client) => (await client.exchange("NONSENSE\r\n\r\n")).split("\r\n")[0], "HTTP/1.1 400 Bad Request");
test("Expect: 100-continue", async (client) => (await client.exchange("POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi")).split("\r\n").filter((line) => line.startsWith("HTTP")), ["HTTP/1.1 100 Continue", "HTTP/1.1 200 OK"]);
