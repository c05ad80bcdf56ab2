import * as z from "zod";

const address = z.object({
  city: z.string().min(1),
  zip: z
    .string()
    .regex(/^\d{5}$/, "five digits")
    .optional(),
});

type Tree = { name: string; children: Tree[] };
const tree: z.ZodType<Tree> = z.object({ name: z.string(), children: z.lazy(() => z.array(tree)) });

const taken = new Set(["ada"]);

export const schemas: Record<string, z.ZodType> & { user: z.ZodType } = {
  user: z.strictObject({
    name: z.string().trim().min(2).max(20),
    age: z.number().int().positive().lt(150).optional(),
    role: z.enum(["admin", "user"]).default("user"),
    address,
    tags: z
      .array(z.string())
      .max(3)
      .default(() => []),
  }),
  formats: z.object({
    email: z.email(),
    url: z.url(),
    uuid: z.uuid(),
    datetime: z.iso.datetime({ offset: true }),
    date: z.iso.date(),
    ipv4: z.ipv4(),
    ipv6: z.ipv6(),
    cidr: z.cidrv4(),
    base64: z.base64(),
    jwt: z.jwt(),
    emoji: z.emoji(),
    nanoid: z.nanoid(),
    ulid: z.ulid(),
    template: z.templateLiteral([z.number(), z.enum(["px", "em"])]),
  }),
  numbers: z.object({
    int: z.int(),
    int32: z.int32(),
    float: z.float64(),
    multiple: z.number().multipleOf(0.01),
    finite: z.number(),
    big: z.coerce.bigint(),
    coerced: z.coerce.number(),
    date: z.coerce.date().min(new Date("2020-01-01")),
    flag: z.stringbool(),
  }),
  shape: z.discriminatedUnion("kind", [
    z.object({ kind: z.literal("circle"), radius: z.number() }),
    z.object({ kind: z.literal("square"), side: z.number() }).transform(({ side }) => ({ kind: "square", area: side * side })),
  ]),
  union: z.union([z.string(), z.array(z.number()), z.null()]),
  tuple: z.tuple([z.string(), z.number()], z.boolean()),
  record: z.record(z.string().regex(/^[a-z]+$/), z.number()),
  intersection: z.intersection(z.object({ a: z.number() }), z.object({ b: z.number() })),
  map: z.array(z.tuple([z.string(), z.number()])).transform((entries) => new Map(entries)),
  set: z.array(z.number()).transform((values) => new Set(values)),
  tree,
  passwords: z
    .object({ one: z.string(), two: z.string() })
    .refine(({ one, two }) => one === two, { path: ["two"], error: "they differ" })
    .superRefine(({ one }, context) => {
      if (one.length < 3) context.addIssue({ code: "custom", message: "too short to be safe", params: { min: 3 } });
    }),
  nick: z.string().refine(async (nick) => {
    await new Promise((resolve) => setTimeout(resolve, 5));
    return !taken.has(nick);
  }, "taken"),
  pipe: z
    .string()
    .transform((text) => text.split(","))
    .pipe(z.array(z.coerce.number()).min(2)),
  caught: z.object({ n: z.number().catch(7), s: z.string().nullish(), any: z.unknown() }),
  picked: z
    .object({ a: z.string(), b: z.string(), c: z.string() })
    .pick({ a: true, b: true })
    .partial({ b: true })
    .extend({ d: z.literal([1, 2]) }),
  loose: z.looseObject({ a: z.string() }).readonly(),
};
