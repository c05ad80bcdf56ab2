//! The Cache API. workerd alone has no cache, so the conformance suite cannot compare this.

use celld_tests::{Dev, Project, get};

const WORKER: &str = r#"
const url = "http://cache.example/thing";
const put = (body, headers, init) => caches.default.put(new Request(url, init), new Response(body, { headers }));
const look = async (headers, init) => {
  const found = await caches.default.match(new Request(url, { headers, ...init }));
  if (!found) return null;
  const picked = ["cf-cache-status", "content-range", "etag", "set-cookie"].map((name) => found.headers.get(name));
  return [found.status, await found.text(), ...picked];
};
const steps = {
  async put() {
    await put("0123456789", { "cache-control": "max-age=60", etag: '"v1"' });
    return "stored";
  },
  look: () => look(),
  range: () => look({ range: "bytes=2-4" }),
  unmodified: () => look({ "if-none-match": '"v1"' }),
  async delete() {
    return [await caches.default.delete(url), await caches.default.delete(url), await look()];
  },
  async methods() {
    await put("x", {});
    const post = { method: "POST" };
    return [
      await caches.default.match(new Request(url, post)) === undefined,
      await (await caches.default.match(new Request(url, post), { ignoreMethod: true })).text(),
    ];
  },
  async cookies() {
    await put("a", { "set-cookie": "a=b" });
    const refused = await look();
    await put("b", { "set-cookie": "a=b", "cache-control": "private=set-cookie, max-age=9" });
    return [refused, await look()];
  },
  async vary() {
    const language = (value) => ({ "accept-language": value });
    await put("de", { vary: "Accept-Language" }, { headers: language("de") });
    await put("en", { vary: "Accept-Language" }, { headers: language("en") });
    const text = async (value) => (await look(language(value)))?.[1] ?? null;
    return [await text("de"), await text("en"), await text("fr")];
  },
  async named() {
    const [one, other] = [await caches.open("one"), await caches.open("other")];
    await one.put(url, new Response("one"));
    return [await (await one.match(url)).text(), await other.match(url) === undefined];
  },
  async aged() {
    await put("x", { "cache-control": "max-age=1" });
    const before = await look();
    await scheduler.wait(1100);
    return [before?.[1], await look()];
  },
};
export default {
  async fetch(request) {
    const step = new URL(request.url).pathname.slice(1);
    return Response.json(await steps[step]());
  },
};
"#;

#[test]
fn the_cache_keeps_what_http_lets_it_keep() {
    let project = Project::worker(WORKER);
    let mut dev = Dev::ready(project.path(), &[]);
    let address = dev.address();
    let step = |name: &str| get(address, &format!("/{name}")).expect("the node answers").body;
    assert_eq!(step("put"), r#""stored""#);
    // One store for all shards: every connection may be on another.
    for _ in 0..8 {
        assert_eq!(step("look"), r#"[200,"0123456789","HIT",null,"\"v1\"",null]"#);
    }
    assert_eq!(step("range"), r#"[206,"234","HIT","bytes 2-4/10","\"v1\"",null]"#);
    assert_eq!(step("unmodified"), r#"[304,"","HIT",null,"\"v1\"",null]"#);
    assert_eq!(step("delete"), "[true,false,null]");
    assert_eq!(step("methods"), r#"[true,"x"]"#);
    assert_eq!(step("cookies"), r#"[null,[200,"b","HIT",null,null,null]]"#);
    assert_eq!(step("vary"), r#"["de","en",null]"#);
    assert_eq!(step("named"), r#"["one",true]"#);
    assert_eq!(step("aged"), r#"["x",null]"#);
}
