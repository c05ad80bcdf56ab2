import { Hono } from "hono";
import { Hono as Quick } from "hono/quick";
import { LinearRouter } from "hono/router/linear-router";
import { PatternRouter } from "hono/router/pattern-router";
import { RegExpRouter } from "hono/router/reg-exp-router";
import { SmartRouter } from "hono/router/smart-router";
import { TrieRouter } from "hono/router/trie-router";
import { Hono as Tiny } from "hono/tiny";

// The same routes with every router.
function routes(app: Hono) {
  app.get("/static", (c) => c.text("static"));
  app.get("/users/:id", (c) => c.text(`user ${c.req.param("id")}`));
  app.get("/users/:id/posts/:post{[0-9]+}", (c) => c.json(c.req.param()));
  app.get("/files/*", (c) => c.text(`file ${c.req.path.split("/files/")[1]}`));
  app.get("/maybe/:part?", (c) => c.text(`maybe ${c.req.param("part") ?? "not"}`));
  app.on(["PUT", "PURGE"], "/on", (c) => c.text(`on ${c.req.method}`));
  app.all("/all", (c) => c.text(`all ${c.req.method}`));
  return app;
}

const apps = {
  linear: new Hono({ router: new LinearRouter() }),
  pattern: new Hono({ router: new PatternRouter() }),
  trie: new Hono({ router: new TrieRouter() }),
  smart: new Hono({ router: new SmartRouter({ routers: [new RegExpRouter(), new TrieRouter()] }) }),
  quick: new Quick(),
  tiny: new Tiny(),
};

export const routers = new Hono();
for (const [name, app] of Object.entries(apps)) routers.mount(`/${name}`, routes(app as Hono).fetch);
