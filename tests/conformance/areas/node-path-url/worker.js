import dns from "node:dns";
import os from "node:os";
import path from "node:path";
import punycode from "node:punycode";
import querystring from "node:querystring";
import url from "node:url";

import { suite } from "./suite.js";
import recorded from "./recorded.js";

const { test, handler } = suite(recorded);
export default handler;

for (const [kind, each] of [
  ["posix", path.posix],
  ["win32", path.win32],
]) {
  const paths =
    kind === "posix"
      ? ["/a/b/c.txt", "a/../b", "", "/", "./x/", "a//b/./c/..", "..", ".bashrc", "a.tar.gz", "/a/b/"]
      : ["C:\\a\\b.txt", "a\\..\\b", "", "\\", "C:", "C:a", "\\\\server\\share\\x", "a/b\\c", ".."];
  for (const name of paths) {
    test(`${kind}: ${JSON.stringify(name)}`, () => ({
      basename: each.basename(name),
      dirname: each.dirname(name),
      extname: each.extname(name),
      normalize: each.normalize(name),
      isAbsolute: each.isAbsolute(name),
      parse: each.parse(name),
    }));
  }
  test(`${kind}: join and resolve`, () => [
    each.join("a", "..", "b", "", "./c"),
    each.join(),
    each.resolve("/a", "b", "../c"),
    each.resolve("/a", "/b"),
  ]);
  test(`${kind}: relative`, () => [each.relative("/a/b", "/a/c/d"), each.relative("/a", "/a"), each.relative("/a/b/c", "/")]);
  test(`${kind}: format`, () => [each.format({ dir: "/a", base: "b.c" }), each.format({ root: "/", name: "a", ext: "b" })]);
  test(`${kind}: sep, delimiter`, () => [each.sep, each.delimiter]);
  test(`${kind}: basename with a suffix`, () => [each.basename("a/b.txt", ".txt"), each.basename("b", "b")]);
  test(`${kind}: toNamespacedPath`, () => each.toNamespacedPath("C:\\a"));
  test(`${kind}: matchesGlob`, () => each.matchesGlob("a/b.js", "a/*.js"));
}
test("path is posix", () => path === path.posix);
test("path.resolve is from the working directory", () => path.resolve("a"));
test("path.join of a number", () => path.join(5));
for (const text of [
  "http://u:p@Example.com:80/a%20b?q=1&r#h",
  "/a?b",
  "a",
  "//host/path",
  "mailto:a@b.c",
  "javascript:x",
  "http://a.com/ b",
  "HTTP://a",
  "http://[::1]:3000/",
  "file:///a/b",
  "?x",
  "#y",
  "http://münchen.de/",
]) {
  test(`url.parse ${text}`, () => ({ ...url.parse(text) }));
}
const cases = {
  "url.parse with a query": () => ({ ...url.parse("http://a/?b=1&b=2", true) }).query,
  "url.parse of a number": () => url.parse(5),
  "url.format of an object": () => url.format({ protocol: "http", host: "a.com", pathname: "/b", query: { c: 1 }, hash: "d" }),
  "url.format of a URL": () => url.format(new URL("http://u:p@測試/x?y#z"), { auth: false, fragment: false, search: false, unicode: true }),
  "url.resolve": () => [url.resolve("/one/two", "three"), url.resolve("http://a/b", "/c"), url.resolve("http://a/b", "//d/e")],
  "url.fileURLToPath": () => url.fileURLToPath("file:///a/b%20c"),
  "url.fileURLToPath of http": () => url.fileURLToPath("http://a/"),
  "url.pathToFileURL": () => url.pathToFileURL("/a b#?").href,
  "url.urlToHttpOptions": () => ({ ...url.urlToHttpOptions(new URL("http://u:p@a:8/b?c#d")) }),
  "url.domainToASCII": () => [
    url.domainToASCII("español.com"),
    url.domainToUnicode("xn--espaol-zwa.com"),
    url.domainToASCII("xn--iñvalid.com"),
  ],
  "url.URL": () => [url.URL === URL, url.URLSearchParams === URLSearchParams],
  "querystring.parse": () => ({ ...querystring.parse("a=1&a=2&b=%20+&c&=d&e=%zz") }),
  "querystring.parse with separators": () => ({ ...querystring.parse("a:1;b:2", ";", ":") }),
  "querystring.parse with a limit": () => ({ ...querystring.parse("a=1&b=2&c=3", null, null, { maxKeys: 2 }) }),
  "querystring.stringify": () => [
    querystring.stringify({ a: [1, 2], b: "é &", c: true, d: null, e: undefined, f: {}, g: 5n }),
    querystring.stringify({ a: 1, b: 2 }, ";", ":"),
    querystring.stringify("x"),
  ],
  "querystring.escape": () => [querystring.escape("a b&é*'()"), querystring.unescape("a%20b+%zz"), typeof querystring.unescapeBuffer],
  punycode: () => [
    punycode.encode("mañana"),
    punycode.decode("maana-pta"),
    punycode.toASCII("mañana.com"),
    punycode.toUnicode("xn--maana-pta.com"),
    punycode.ucs2.decode("a😀"),
    punycode.version,
  ],
  "os.platform": () => [os.platform(), os.type(), os.arch(), os.EOL, os.endianness(), os.release(), os.version(), os.machine()],
  "os.hostname": () => os.hostname(),
  "os.homedir": () => [os.homedir(), os.tmpdir(), os.devNull],
  "os.cpus": () => [os.cpus().length, os.availableParallelism(), os.loadavg()],
  "os.memory": () => [os.totalmem(), os.freemem(), os.uptime()],
  "os.networkInterfaces": () => os.networkInterfaces(),
  "os.userInfo": () => os.userInfo(),
  "os.constants": () => [
    os.constants.signals.SIGTERM,
    os.constants.errno.ENOENT,
    os.constants.priority.PRIORITY_LOW,
    os.constants.dlopen?.RTLD_LAZY,
  ],
  "os.getPriority": () => os.getPriority(),
  "dns.getServers": () => dns.getServers(),
  "dns constants": () => [dns.NODATA, dns.NOTFOUND, dns.ADDRCONFIG, dns.promises === undefined],
  "dns.setServers": () => dns.setServers(["1.1.1.1"]),
  "dns.lookup without a callback": () => dns.lookup("a"),
  "dns.getDefaultResultOrder": () => dns.getDefaultResultOrder(),
};
for (const [name, run] of Object.entries(cases)) test(name, run);
