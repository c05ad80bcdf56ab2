import { caught, error, seen, suite, threw } from "./suite.js";

const { test, handler } = suite();
export default handler;

test(
  "defaults",
  () => {
    const { status, statusText, ok, redirected, type, url, body, bodyUsed, webSocket, cf } = new Response();
    return { status, statusText, ok, redirected, type, url, body, bodyUsed, webSocket, cf };
  },
  {
    status: 200,
    statusText: "",
    ok: true,
    redirected: false,
    type: "default",
    url: "",
    body: null,
    bodyUsed: false,
    webSocket: null,
    cf: undefined,
  },
);
for (const status of [200, 404, 599]) test(`statusText of ${status} is not filled in`, () => new Response(null, { status }).statusText, "");
test("statusText given", () => new Response(null, { statusText: "Fine" }).statusText, "Fine");
for (const status of [0, 100, 199, 600, 1000, -1, NaN, "x"]) {
  test(
    `status ${status}`,
    () => new Response(null, { status }),
    threw("RangeError", "Responses may only be constructed with status codes in the range 200 to 599, inclusive."),
  );
}
test(
  "status 101 without a WebSocket",
  () => new Response(null, { status: 101 }),
  threw("RangeError", "Responses may only be constructed with status codes in the range 200 to 599, inclusive."),
);
test("status as a string of digits", () => new Response(null, { status: "201" }).status, 201);
for (const status of [204, 205, 304]) {
  test(
    `body with ${status}`,
    () => new Response("x", { status }),
    threw("TypeError", "Response with null body status (101, 204, 205, or 304) cannot have a body."),
  );
  test(`empty body with ${status}`, async () => (await seen(new Response("", { status }))).status, status);
  test(`null body with ${status}`, () => seen(new Response(null, { status })), { status, statusText: "", headers: [], body: "" });
}
test("ok", () => [200, 299, 300, 404].map((status) => new Response(null, { status }).ok), [true, true, false, false]);
test("content type of a string", () => new Response("x").headers.get("content-type"), "text/plain;charset=UTF-8");
test(
  "content type of URLSearchParams",
  () => new Response(new URLSearchParams("a=1")).headers.get("content-type"),
  "application/x-www-form-urlencoded;charset=UTF-8",
);
test("content type of a Blob", () => new Response(new Blob(["x"], { type: "text/html" })).headers.get("content-type"), "text/html");
test("content type of a Blob without one", () => new Response(new Blob(["x"])).headers.get("content-type"), null);
test("content type of bytes", () => new Response(new Uint8Array(1)).headers.get("content-type"), null);
test(
  "content type of FormData",
  () => /^multipart\/form-data; boundary=[\w-]+$/.test(new Response(new FormData()).headers.get("content-type")),
  true,
);
test("content type given", () => new Response("x", { headers: { "content-type": "a/b" } }).headers.get("content-type"), "a/b");
test("body of an object", () => new Response({}).text(), "[object Object]");
test("body of a number", () => new Response(1).text(), "1");
test("body null", () => new Response(null).body, null);
test("body undefined", () => new Response(undefined).body, null);
test("body of an empty string", () => new Response("").body === null, false);
test("json", () => seen(Response.json({ a: [1, null] })), {
  status: 200,
  statusText: "",
  headers: [["content-type", "application/json"]],
  body: '{"a":[1,null]}',
});
test("json with init", () => seen(Response.json(1, { status: 201, headers: { "x-a": "b" } })), {
  status: 201,
  statusText: "",
  headers: [
    ["content-type", "application/json"],
    ["x-a", "b"],
  ],
  body: "1",
});
test("json keeps a content type", () => Response.json(1, { headers: { "content-type": "a/b" } }).headers.get("content-type"), "a/b");
test("json of undefined", () => Response.json(undefined).text(), "undefined");
test("json of a function", () => Response.json(() => {}).text(), "undefined");
test(
  "json of a circular value",
  async () => {
    const value = {};
    value.self = value;
    return (await caught(() => Response.json(value))).name;
  },
  "TypeError",
);
test("json of a BigInt", () => Response.json(1n), threw("TypeError", "Do not know how to serialize a BigInt"));
test("redirect", () => seen(Response.redirect("http://example.com/a")), {
  status: 302,
  statusText: "",
  headers: [["location", "http://example.com/a"]],
  body: "",
});
for (const status of [301, 303, 307, 308]) test(`redirect ${status}`, () => Response.redirect("http://a/", status).status, status);
test(
  "redirect 200",
  () => Response.redirect("http://a/", 200),
  threw("RangeError", "200 is not a redirect status code. It must be one of: 301, 302, 303, 307, or 308."),
);
test("redirect to a relative URL", () => Response.redirect("/a"), threw("TypeError", "Unable to parse URL: /a"));
test("redirect normalises the URL", () => Response.redirect("http://EXAMPLE.com/a b").headers.get("location"), "http://example.com/a%20b");
test("redirect: its body", () => Response.redirect("http://a/").body, null);
test(
  "error",
  () => {
    const { type, status, ok, body, statusText } = Response.error();
    return { type, status, ok, body, statusText };
  },
  { type: "error", status: 0, ok: false, body: null, statusText: "" },
);
test(
  "clone",
  async () => {
    const first = new Response("hello", { status: 201, headers: { a: "1" } });
    const second = first.clone();
    return [await first.text(), await second.text(), second.status, second.headers.get("a")];
  },
  ["hello", "hello", 201, "1"],
);
test(
  "clone after use",
  async () => {
    const response = new Response("x");
    await response.text();
    return response.clone();
  },
  threw("TypeError", "This ReadableStream is currently locked to a reader,"),
);
test(
  "clone of a locked body",
  () => {
    const response = new Response("x");
    response.body.getReader();
    return response.clone();
  },
  threw("TypeError", "This ReadableStream is currently locked to a reader,"),
);
test(
  "clone: headers are independent",
  () => {
    const first = new Response("x", { headers: { a: "1" } });
    const second = first.clone();
    second.headers.set("a", "2");
    return first.headers.get("a");
  },
  "1",
);
test(
  "bodyUsed",
  async () => {
    const response = new Response("x");
    const before = response.bodyUsed;
    const reading = response.text();
    const during = response.bodyUsed;
    await reading;
    return [before, during, response.bodyUsed];
  },
  [false, true, true],
);
test(
  "bodyUsed without a body",
  async () => {
    const response = new Response(null);
    await response.text();
    return response.bodyUsed;
  },
  false,
);
test(
  "twice read",
  async () => {
    const response = new Response("x");
    await response.text();
    return response.text();
  },
  threw("TypeError", "Body has already been used. It can only be used once. Use tee() first if you need to read it twice."),
);
test(
  "twice read without a body",
  async () => {
    const response = new Response(null);
    return [await response.text(), await response.text()];
  },
  ["", ""],
);
test(
  "read of a locked body",
  async () => {
    const response = new Response("x");
    response.body.getReader();
    return response.text();
  },
  threw("TypeError", "This ReadableStream is currently locked to a reader."),
);
test(
  "from a response",
  async () => {
    const first = new Response("x", { status: 404, headers: { a: "1" } });
    return seen(new Response(first.body, first));
  },
  {
    status: 404,
    statusText: "",
    headers: [
      ["a", "1"],
      ["content-type", "text/plain;charset=UTF-8"],
    ],
    body: "x",
  },
);
test(
  "body of a used stream",
  async () => {
    const first = new Response("x");
    await first.text();
    return new Response(first.body);
  },
  threw("TypeError", "This ReadableStream is disturbed (has already been read from), and cannot be used as a body."),
);
test(
  "body of a locked stream",
  () => {
    const first = new Response("x");
    first.body.getReader();
    return new Response(first.body);
  },
  threw("TypeError", "This ReadableStream is locked to a reader, and cannot be used as a body."),
);
test(
  "body of a stream of strings",
  () =>
    new Response(
      new ReadableStream({
        start(controller) {
          controller.enqueue("x");
          controller.close();
        },
      }),
    ).text(),
  threw("TypeError", "This ReadableStream did not return bytes."),
);
test(
  "body of a stream that fails",
  () =>
    new Response(
      new ReadableStream({
        start(controller) {
          controller.error(new RangeError("boom"));
        },
      }),
    ).text(),
  threw("RangeError", "boom"),
);
test(
  "init: encodeBody",
  () => new Response("x", { encodeBody: "manual", headers: { "content-encoding": "gzip" } }).headers.get("content-encoding"),
  "gzip",
);
test(
  "init: encodeBody of another value",
  () => new Response("x", { encodeBody: "x" }),
  threw("TypeError", "encodeBody: unexpected value: x"),
);
test("init: cf", () => new Response("x", { cf: { a: 1 } }).cf, { a: 1 });
test("init is null", () => new Response("x", null).status, 200);
test(
  "init is a number",
  () => new Response("x", 1).status,
  threw("TypeError", "Failed to construct 'Response': constructor parameter 2 is not of type 'InitializerDict or Response'."),
);
test(
  "without new",
  () => Response(),
  threw(
    "TypeError",
    "Failed to construct 'Response': Please use the 'new' operator, this object constructor cannot be called as a function.",
  ),
);
test("the tag", () => String(new Response()), "[object Response]");
test(
  "webSocket without 101",
  () => new Response(null, { webSocket: new WebSocketPair()[0] }),
  threw("RangeError", "Responses with a WebSocket must have status code 101."),
);
test(
  "101 with a WebSocket",
  () => {
    const response = new Response(null, { status: 101, webSocket: new WebSocketPair()[0] });
    return [response.status, String(response.webSocket)];
  },
  [101, "[object WebSocket]"],
);
test(
  "101 with a WebSocket and a body",
  () => new Response("x", { status: 101, webSocket: new WebSocketPair()[0] }),
  threw("TypeError", "Response with null body status (101, 204, 205, or 304) cannot have a body."),
);
