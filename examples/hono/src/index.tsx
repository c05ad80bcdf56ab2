import { Hono } from "hono";
import { etag } from "hono/etag";
import { HTTPException } from "hono/http-exception";
import { validator } from "hono/validator";
import type { Notes } from "./notes";
import { Page } from "./page";

export { Notes } from "./notes";

type App = { Bindings: { NOTES: DurableObjectNamespace<Notes> } };

const app = new Hono<App>();

app.use(async (c, next) => {
  const start = Date.now();
  await next();
  c.header("Server-Timing", `app;dur=${Date.now() - start}`);
});

app.get("/", etag(), async (c) => {
  const notes = await c.env.NOTES.getByName("all").list();
  return c.html(<Page notes={notes} />);
});

const text = validator("json", (body) => {
  if (typeof body.text !== "string" || body.text.trim() === "") {
    throw new HTTPException(400, { message: "text is required" });
  }
  return { text: body.text as string };
});

const api = new Hono<App>()
  .get("/notes", async (c) => c.json(await c.env.NOTES.getByName("all").list()))
  .post("/notes", text, async (c) => {
    const note = await c.env.NOTES.getByName("all").add(c.req.valid("json").text);
    return c.json(note, 201);
  })
  .delete("/notes/:id{[0-9]+}", async (c) => {
    const removed = await c.env.NOTES.getByName("all").remove(Number(c.req.param("id")));
    return removed ? c.body(null, 204) : c.json({ error: "no such note" }, 404);
  });

app.route("/api", api);

app.notFound((c) => c.json({ error: "not found" }, 404));
app.onError((error, c) => {
  if (error instanceof HTTPException) return c.json({ error: error.message }, error.status);
  console.error(error);
  return c.json({ error: "internal error" }, 500);
});

export default app;
