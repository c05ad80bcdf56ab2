// `cloudflare:node`: servers of node:http behind the platform's requests.
import { handleAsNodeRequest, httpServerHandler } from "cloudflare:node";
import http from "node:http";
import { caught, suite } from "./suite.js";
import recorded from "./recorded.js";

const { test, handler } = suite(recorded);
export default handler;

const routes = {
  async "/echo"(request, response) {
    let body = "";
    for await (const chunk of request) body += chunk;
    const { method, url, headers, rawHeaders, httpVersion } = request;
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ method, url, headers, rawHeaders, httpVersion, body }));
  },
  "/head"(_request, response) {
    response.writeHead(201, "Fine", { "x-a": ["1", "2"], "content-type": "text/plain" });
    response.write("a");
    response.end("b");
  },
  "/stream"(_request, response) {
    let i = 0;
    const timer = setInterval(() => {
      response.write(`part${i}`);
      if (++i === 3) {
        clearInterval(timer);
        response.end();
      }
    }, 1);
  },
  "/cookie"(_request, response) {
    response.setHeader("set-cookie", ["a=1", "b=2"]);
    response.appendHeader("x-b", "1");
    response.appendHeader("x-b", "2");
    response.statusCode = 404;
    response.end(Buffer.from("bytes"));
  },
  "/empty"(_request, response) {
    response.statusCode = 204;
    response.end();
  },
  async "/twice"(_request, response) {
    response.write("x");
    const errors = [await caught(() => response.setHeader("a", "b")), await caught(() => response.writeHead(200))];
    response.end(errors.map(({ code, message }) => `${code} ${message}`).join());
  },
  "/classes"(request, response) {
    response.end(
      String([
        request instanceof http.IncomingMessage,
        response instanceof http.ServerResponse,
        response.req === request,
        response.headersSent,
      ]),
    );
  },
  "/events"(request, response) {
    let body = "";
    request.on("data", (chunk) => (body += chunk)).on("end", () => response.end(`read "${body}"`));
  },
  "/cork"(_request, response) {
    response.cork();
    response.write("a");
    response.write("b");
    response.uncork();
    response.end("c");
  },
  "/pipe": (request, response) => request.pipe(response),
  // As frameworks do it.
  "/prototypes"(request, response) {
    Object.setPrototypeOf(request, Object.create(http.IncomingMessage.prototype));
    Object.setPrototypeOf(response, Object.create(http.ServerResponse.prototype));
    routes["/events"](request, response);
  },
};
const server = http.createServer((request, response) => routes[request.url.split("?")[0]](request, response));
const events = [];
server.on("listening", () => events.push("listening"));
server.listen(8080, () => events.push("callback"));
const served = httpServerHandler({ port: 8080 });

const ask = async (path, init, { env, ctx }) => {
  const response = await served.fetch(new Request(`https://example.com${path}`, init), env, ctx);
  const names = ["content-type", "content-length", "set-cookie", "x-a", "x-b"];
  const headers = [...response.headers].filter(([name]) => names.includes(name));
  return [response.status, headers, await response.text()];
};
test("a GET", (given) => ask("/echo?a=1", { headers: { "x-y": "z", cookie: "a=b" } }, given));
test("a POST", (given) => ask("/echo", { method: "POST", body: "hello" }, given));
for (const path of ["/events", "/pipe", "/prototypes"])
  test(
    `a POST to ${path}`,
    async (given) => (await ask(path, { method: "POST", body: "hello" }, given))[2],
    path === "/pipe" ? "hello" : 'read "hello"',
  );
for (const path of Object.keys(routes).slice(1)) test(path, (given) => ask(path, undefined, given));
test("listening", () => [server.listening, server.address(), events]);
test("a port that is taken", () => http.createServer().listen(8080));
test("any port", () => {
  const other = http.createServer().listen(0);
  const { port } = other.address();
  other.close();
  return [port > 1024, other.listening, other.address()];
});
test("handleAsNodeRequest: a number", async ({ env, ctx }) =>
  (await handleAsNodeRequest(8080, new Request("https://x/empty"), env, ctx)).status);
test("handleAsNodeRequest: nobody listens", ({ env, ctx }) => handleAsNodeRequest(9999, new Request("https://x/"), env, ctx));
test("handleAsNodeRequest: no port", ({ env, ctx }) => handleAsNodeRequest(undefined, new Request("https://x/"), env, ctx));
test("httpServerHandler: nothing", () => httpServerHandler());
test("httpServerHandler: no port", () => httpServerHandler({}));
test("httpServerHandler: members", () => Object.keys(served));
