import { Hono } from "hono";
import { HTTPException } from "hono/http-exception";
import { requestId } from "hono/request-id";
import { client } from "./client";
import { cookies } from "./cookies";
import { jwts } from "./jwts";
import { middlewares } from "./middlewares";
import { pages } from "./pages";
import { routers } from "./routers";
import { sockets } from "./sockets";
import { streams } from "./streams";
import { validators } from "./validators";

type App = { Bindings: { GREETING: string }; Variables: { user: string } };

const app = new Hono<App>();

app.use(requestId({ generator: () => "the-id" }));
app.get("/", (c) => c.text(`${c.env.GREETING}, ${c.req.query("name") ?? "world"}!`));
app.get("/query", (c) => c.json({ one: c.req.query("a"), all: c.req.queries("a"), every: c.req.query() }));
app.get("/header", (c) => {
  c.header("X-One", "1");
  c.header("X-Many", "a");
  c.header("X-Many", "b", { append: true });
  c.status(201);
  return c.body(`${c.req.header("x-sent")} ${c.req.header("User-Agent")}`);
});
app.get("/redirect", (c) => c.redirect("/?name=redirected", 303));
app.get("/wait", (c) => {
  c.executionCtx.waitUntil(Promise.resolve());
  return c.json({ context: typeof c.executionCtx.passThroughOnException });
});
app.post("/text", async (c) => c.text((await c.req.text()).toUpperCase()));
app.post("/json", async (c) => c.json({ got: await c.req.json() }));
app.post("/form", async (c) => {
  const form = await c.req.parseBody({ all: true, dot: true });
  const file = form.file;
  return c.json({ ...form, file: file instanceof File ? [file.name, file.type, await file.text()] : (file ?? null) });
});
app.post("/bytes", async (c) =>
  c.body(new Uint8Array(await c.req.arrayBuffer()).reverse(), 200, { "Content-Type": "application/x-bytes" }),
);
app.post("/again", async (c) => c.json([await c.req.text(), await c.req.json(), JSON.parse(await (await c.req.blob()).text())]));
app.get("/fails", () => {
  throw new Error("on purpose");
});
app.get("/teapot", () => {
  throw new HTTPException(418, { message: "short and stout", cause: "tea" });
});
app.get("/own-answer", () => {
  throw new HTTPException(401, { res: new Response("own answer", { headers: { "WWW-Authenticate": "Tea" }, status: 401 }) });
});

app.route("/client", client);
app.route("/cookies", cookies);
app.route("/jwt", jwts);
app.route("/with", middlewares);
app.route("/pages", pages);
app.route("/routers", routers);
app.route("/sockets", sockets);
app.route("/streams", streams);
app.route("/validate", validators);

app.notFound((c) => c.json({ missing: c.req.path }, 404));
app.onError((error, c) => {
  if (error instanceof HTTPException) return error.getResponse();
  return c.json({ error: error.message, path: c.req.path }, 500);
});

export default app;
