import * as z from "zod";
import * as mini from "zod/mini";
import { de } from "zod/locales";
import { schemas } from "./schemas";

const shown = (value: unknown) =>
  JSON.parse(
    JSON.stringify(value ?? null, (_, each) =>
      typeof each === "bigint"
        ? `${each}n`
        : each instanceof Map
          ? [...each]
          : each instanceof Set
            ? [...each]
            : each === undefined
              ? "undefined"
              : each,
    ),
  );

const routes: Record<string, (request: Request, url: URL) => unknown> = {
  /** `{ success, data }` or `{ success, issues }` of a schema for the JSON that was sent. */
  async "/parse"(request, url) {
    const schema = schemas[url.searchParams.get("schema")!];
    const result = await schema.safeParseAsync(await request.json());
    return result.success ? { data: shown(result.data) } : { issues: shown(result.error.issues) };
  },

  "/errors"() {
    const { error } = schemas.user.safeParse({ name: 1, address: { city: "" }, tags: ["ok", 2], extra: true });
    return {
      name: error!.name,
      isError: error instanceof z.ZodError,
      pretty: z.prettifyError(error!),
      tree: z.treeifyError(error!),
      flat: z.flattenError(error!),
    };
  },

  "/throws"() {
    try {
      schemas.user.parse(null);
      return "no error";
    } catch (error) {
      return { isError: error instanceof z.ZodError, isReal: error instanceof Error, message: (error as Error).message };
    }
  },

  "/json-schema": () => z.toJSONSchema(schemas.user, { target: "draft-2020-12" }),

  "/codec"() {
    const date = z.codec(z.iso.datetime(), z.date(), { decode: (text) => new Date(text), encode: (value) => value.toISOString() });
    return [date.decode("2026-01-02T03:04:05.000Z").getTime(), date.encode(new Date(0)), date.safeDecode("x" as never).success];
  },

  "/locale"() {
    z.config(de());
    const { error } = z.string().min(3).safeParse("a");
    z.config(z.locales.en());
    return [error!.issues[0].message, z.string().min(3).safeParse("a").error!.issues[0].message];
  },

  "/mini"() {
    const schema = mini.object({ a: mini.string().check(mini.minLength(2), mini.trim()), b: mini.optional(mini.number()) });
    return [schema.parse({ a: " xy " }), schema.safeParse({ a: "x" }).error!.issues.map(({ code, path }) => ({ code, path }))];
  },

  "/registry"() {
    const registry = z.registry<{ title: string }>();
    const schema = z.string().register(registry, { title: "A text" });
    return [registry.get(schema), z.string().meta({ id: "x", description: "described" }).meta()];
  },

  /** Many values, for the fast path that is compiled where that is allowed. */
  "/many"() {
    let good = 0;
    for (let i = 0; i < 2000; i++)
      good += Number(schemas.user.safeParse({ name: i % 2 ? `user ${i}` : i, address: { city: "B", zip: "12345" } }).success);
    return good;
  },
};

export default {
  async fetch(request: Request): Promise<Response> {
    const url = new URL(request.url);
    const route = routes[url.pathname];
    return route ? Response.json(await route(request, url)) : new Response("not found", { status: 404 });
  },
};
