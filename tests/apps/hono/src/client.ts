import { Hono } from "hono";
import { hc } from "hono/client";
import { testClient } from "hono/testing";
import { validator } from "hono/validator";

// The typed client, which calls the application without a network in between.
const api = new Hono()
  .get("/books/:id", (c) => c.json({ id: c.req.param("id"), loud: c.req.query("loud") ?? null }))
  .post(
    "/books",
    validator("json", (value: { title: string }) => value),
    (c) => c.json({ title: c.req.valid("json").title }, 201),
  );

export const client = new Hono().get("/", async (c) => {
  const caller = hc<typeof api>("http://books.test", { fetch: api.request });
  const read = await caller.books[":id"].$get({ param: { id: "7" }, query: { loud: "yes" } } as never);
  const made = await caller.books.$post({ json: { title: "Momo" } });
  const tested = await testClient(api).books[":id"].$get({ param: { id: "a b" } });
  return c.json({
    url: caller.books[":id"].$url({ param: { id: "7" } }).href,
    read: await read.json(),
    made: [made.status, await made.json()],
    tested: await tested.json(),
  });
});
