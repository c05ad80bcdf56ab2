import { caught, error, suite, threw } from "./suite.js";

const { test, handler } = suite();
export default handler;

const connect = async (...all) => (await import("cloudflare:sockets")).connect(...all);
const port = (request) => Number(new URL(request.url).port);
const get = "GET /absent HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
const talk = async (socket) => {
  const writer = socket.writable.getWriter();
  await writer.write(new TextEncoder().encode(get));
  const text = await new Response(socket.readable).text();
  return text.split("\r\n")[0];
};
test("exports", async () => Object.keys(await import("cloudflare:sockets")).sort(), ["connect", "internalNewHttpClient"]);
test("connect: host and port", async ({ request }) => talk(await connect(`127.0.0.1:${port(request)}`)), "HTTP/1.1 404 Not Found");
test(
  "connect: an object",
  async ({ request }) => talk(await connect({ hostname: "127.0.0.1", port: port(request) })),
  "HTTP/1.1 404 Not Found",
);
test(
  "connect: opened",
  async ({ request }) => {
    const socket = await connect(`127.0.0.1:${port(request)}`);
    const { remoteAddress, localAddress } = await socket.opened;
    await socket.close();
    return [remoteAddress === `127.0.0.1:${port(request)}`, typeof localAddress];
  },
  [true, "undefined"],
);
test(
  "connect: closed",
  async ({ request }) => {
    const socket = await connect(`127.0.0.1:${port(request)}`);
    await socket.opened;
    const closing = socket.closed;
    await socket.close();
    return closing;
  },
  undefined,
);
test(
  "connect: refused",
  async () => {
    const socket = await connect("127.0.0.1:1");
    return [await caught(() => socket.opened), await caught(() => socket.closed)];
  },
  [
    error("Error", "proxy request failed, cannot connect to the specified address"),
    error("Error", "proxy request failed, cannot connect to the specified address"),
  ],
);
test("connect: no port", () => connect("127.0.0.1"), threw("TypeError", "Specified address is missing port."));
test("connect: a wrong address", () => connect("no address at all"), threw("TypeError", "Specified address could not be parsed."));
test(
  "connect: nothing",
  () => connect(),
  threw("TypeError", "Cannot initialize N7workerd3api13SocketAddressE with required members from an undefined or null value."),
);
test(
  "connect: port 25",
  async () => caught(async () => (await connect("127.0.0.1:25")).opened),
  error("Error", "proxy request failed, cannot connect to the specified address"),
);
test(
  "members",
  async ({ request }) => {
    const socket = await connect(`127.0.0.1:${port(request)}`);
    const out = ["readable", "writable", "opened", "closed", "close", "startTls", "secureTransport", "upgraded"].map(
      (name) => `${name} ${typeof socket[name]}`,
    );
    const values = [socket.secureTransport, socket.upgraded, String(socket)];
    await socket.close();
    return [out, values];
  },
  [
    [
      "readable object",
      "writable object",
      "opened object",
      "closed object",
      "close function",
      "startTls function",
      "secureTransport string",
      "upgraded boolean",
    ],
    ["off", false, "[object Socket]"],
  ],
);
test(
  "startTls without the option",
  async ({ request }) => {
    const socket = await connect(`127.0.0.1:${port(request)}`);
    const error = await caught(() => socket.startTls());
    await socket.close();
    return error;
  },
  error("TypeError", "The `secureTransport` socket option must be set to 'starttls' for startTls to be used."),
);
test(
  "a wrong secureTransport",
  async ({ request }) => caught(() => connect(`127.0.0.1:${port(request)}`, { secureTransport: "x" })),
  error("TypeError", "Unsupported value in secureTransport socket option: x"),
);
test(
  "allowHalfOpen",
  async ({ request }) => talk(await connect(`127.0.0.1:${port(request)}`, { allowHalfOpen: true })),
  "HTTP/1.1 404 Not Found",
);
