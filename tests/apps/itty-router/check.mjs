export default async function ({ ask }) {
  const jsonType = { "content-type": "application/json; charset=utf-8" };
  const textType = { "content-type": "text/plain; charset=utf-8" };
  await ask("GET /", { headers: jsonType, body: { place: "here" } });
  await ask("GET /hello/J%C3%BCrgen?loud=1", { body: '"hello, J%C3%BCrgen!"' });
  await ask("GET /list", { headers: jsonType, body: [1, 2, 3] });
  await ask("GET /html", { headers: { "content-type": "text/html" }, body: "<p>html</p>" });
  await ask("GET /text", { status: 201, headers: { ...textType, "x-own": "1" }, body: "text" });
  await ask("GET /json", { status: 202, headers: jsonType, body: { a: 1 } });
  await ask("GET /status", { status: 204, body: "" });
  await ask("GET /image", { headers: { "content-type": "image/jpeg" }, body: "\u0001\u0002" });
  await ask("GET /own", { headers: { "content-type": "text/x-own; charset=utf-8" }, body: "OWN" });
  await ask("POST /content", { body: { a: [1] } }, { body: { type: "object", content: { a: [1] } } });
  await ask(
    "POST /content",
    { name: "a text", headers: { "content-type": "text/plain" }, body: "words" },
    { body: { type: "string", content: "words" } },
  );
  await ask(
    "POST /content",
    { name: "a form", headers: { "content-type": "application/x-www-form-urlencoded" }, body: "a=1&b=x+y" },
    { body: { a: "1", b: "x y" } },
  );
  await ask("GET /request", { headers: { "user-agent": "test" } }, { body: { method: "GET", agent: "test", path: "/request" } });
  await ask("GET /error", { status: 422, headers: jsonType, body: { status: 422, field: "name", reason: "missing" } });
  await ask("GET /throws", { status: 403, body: { status: 403, error: "forbidden", detail: 1 } });
  await ask("GET /late", { body: { late: true } });
  await ask("GET /nowhere", { status: 404, body: { status: 404, error: "Not Found" } });

  await ask("GET /small/1/2?x=1&x=2&y", { body: { params: { a: "1", b: "2" }, query: { x: ["1", "2"], y: "" }, seen: ["all"] } });
  await ask("GET /small/1", { body: { params: { a: "1" }, query: {}, seen: ["all"] } });
  await ask("GET /small/files/a/b/c.txt", { headers: textType, body: "a/b/c.txt" });
  await ask("DELETE /small/1", { status: 404, body: { status: 404, error: "not in the small one" } });

  await ask("GET /middle/cookies", { headers: { cookie: "a=1; b=two" } }, { headers: { "x-finally": "yes" }, body: { a: "1", b: "two" } });
  await ask("GET /middle/user/7", { headers: { ...jsonType, "x-finally": "yes" }, body: { id: "7" } });
  await ask("GET /middle/file/a.json", { body: { name: "a", type: "json" } });
  await ask("GET /middle/teapot", { status: 418, body: { status: 418, message: "short and stout", caught: true } });
  await ask("GET /middle/fails", { status: 500, body: { status: 500, message: "on purpose", caught: true } });

  await ask(
    "GET /shared",
    { headers: { origin: "https://b.test" } },
    { headers: { "access-control-allow-origin": "https://b.test", "access-control-allow-credentials": "true" }, body: "shared" },
  );
  await ask(
    "OPTIONS /shared",
    { headers: { origin: "https://a.test" } },
    { status: 204, headers: { "access-control-allow-methods": "GET,POST", "access-control-max-age": "60" } },
  );
}
