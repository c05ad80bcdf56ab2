import child from "node:child_process";
import http from "node:http";
import https from "node:https";
import net from "node:net";
import tls from "node:tls";

import { caught, suite } from "./suite.js";
import recorded from "./recorded.js";

const { test, route, handler } = suite(recorded);
export default handler;

route(
  "/echo",
  async (request) =>
    new Response(`${request.method} ${await request.text()}`, { status: 201, headers: { "x-a": "1", "set-cookie": "a=1" } }),
);
const port = (request) => Number(new URL(request.url).port);
const get = (options, body) =>
  new Promise((resolve, reject) => {
    const request = http.request(options, async (response) => {
      let text = "";
      for await (const chunk of response) text += chunk;
      resolve([response.statusCode, response.statusMessage, response.headers["x-a"], response.headers["set-cookie"], text]);
    });
    request.on("error", reject);
    request.end(body);
  });
test("http.get", ({ request }) =>
  new Promise((resolve) =>
    http.get(`http://127.0.0.1:${port(request)}/echo`, (response) =>
      resolve([response.statusCode, response.constructor.name, response.httpVersion]),
    ),
  ));
test("http.request: POST", ({ request }) => get({ host: "127.0.0.1", port: port(request), path: "/echo", method: "POST" }, "body"));
test("http.request: refused", async () => {
  const error = await caught(() => get({ host: "127.0.0.1", port: 1, path: "/" }));
  return [error.name, error.code];
});
test("http.request: members", ({ request }) => {
  const mine = http.request({ host: "127.0.0.1", port: port(request), path: "/echo", headers: { "X-B": "2" } });
  const out = [mine.method, mine.path, mine.host, mine.getHeader("x-b"), mine.getHeaderNames(), mine.constructor.name];
  mine.on("error", () => {});
  mine.end();
  return out;
});
test("http.request: a wrong path", () => http.request({ path: "/a b" }));
test("http.request: a wrong header", () => http.request({ headers: { "a b": "1" } }));
test("http.request: a wrong protocol", () => http.request("ftp://a/"));
test("http.STATUS_CODES", () => [http.STATUS_CODES[404], http.METHODS.length, http.maxHeaderSize]);
test("http.Agent", () => [
  typeof http.globalAgent,
  new http.Agent({ keepAlive: true }).keepAlive,
  http.globalAgent.defaultPort,
  https.globalAgent.defaultPort,
]);
test("http.createServer", () => typeof http.createServer(() => {}).listen);
test("http.validateHeaderName", () => http.validateHeaderName("a b"));
test("http.validateHeaderValue", () => http.validateHeaderValue("a", "\n"));
test("https.request: members", () => typeof https.request);
test("net.isIP", () => [net.isIP("1.2.3.4"), net.isIP("::1"), net.isIP("x"), net.isIPv4("1.2.3.4"), net.isIPv6("1.2.3.4")]);
test("net.connect", ({ request }) =>
  new Promise((resolve, reject) => {
    const socket = net.connect(port(request), "127.0.0.1");
    let text = "";
    socket.setEncoding("utf8");
    socket.on("data", (data) => (text += data));
    socket.on("end", () => resolve(text.split("\r\n")[0]));
    socket.on("error", reject);
    socket.write("GET /absent HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  }));
test("net.connect: refused", () =>
  new Promise((resolve) => net.connect(1, "127.0.0.1").on("error", (error) => resolve([error.name, error.code]))));
test("net.Socket: members", () => {
  const { connecting, readyState, bytesRead, destroyed, pending } = new net.Socket();
  return { connecting, readyState, bytesRead, destroyed, pending };
});
test("net.createServer", () => net.createServer().constructor.name);
test("net.BlockList", () => {
  const list = new net.BlockList();
  list.addAddress("1.2.3.4");
  list.addSubnet("10.0.0.0", 8);
  return [list.check("1.2.3.4"), list.check("10.1.1.1"), list.check("5.5.5.5"), list.rules];
});
test("net.SocketAddress", () => {
  const { address, port: each, family, flowlabel } = new net.SocketAddress({ address: "1.2.3.4", port: 5 });
  return { address, each, family, flowlabel };
});
test("net: a wrong port", () => net.connect(99999));
test("tls.connect: members", () => [
  typeof tls.connect,
  tls.DEFAULT_MIN_VERSION,
  typeof tls.rootCertificates,
  tls.getCiphers?.().length > 0,
]);
test("tls.checkServerIdentity", () => tls.checkServerIdentity("a.com", { subject: { CN: "b.com" } })?.code);
test("tls.createServer", () => tls.createServer().constructor.name);
for (const name of ["spawn", "exec", "execFile", "fork", "spawnSync", "execSync", "execFileSync"])
  test(`child_process.${name}`, () => {
    child[name]("true");
  });
