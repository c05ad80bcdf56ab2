import { zValidator } from "@hono/zod-validator";
import { Hono } from "hono";
import { validator } from "hono/validator";
import { z } from "zod";

const note = z.object({ title: z.string().min(3), stars: z.coerce.number().int().max(5), tags: z.array(z.string()).default([]) });

export const validators = new Hono()
  .post("/json", zValidator("json", note), (c) => c.json(c.req.valid("json"), 201))
  .post("/form", zValidator("form", note.pick({ title: true, stars: true })), (c) => c.json(c.req.valid("form")))
  .get("/query", zValidator("query", z.object({ page: z.coerce.number(), q: z.union([z.string(), z.array(z.string())]) })), (c) =>
    c.json(c.req.valid("query")),
  )
  .get("/param/:id", zValidator("param", z.object({ id: z.uuid() })), (c) => c.json(c.req.valid("param")))
  .get("/cookie", zValidator("cookie", z.object({ session: z.string() })), (c) => c.json(c.req.valid("cookie")))
  .post(
    "/own",
    validator("header", (value, c) => (value["x-key"] === "open" ? { key: value["x-key"] } : c.text("no key", 403))),
    validator("json", (value, c) => (typeof value.n === "number" ? { n: value.n + 1 } : c.json({ wrong: value }, 400))),
    (c) => c.json({ ...c.req.valid("header"), ...c.req.valid("json") }),
  );
