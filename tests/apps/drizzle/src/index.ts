import { DurableObject } from "cloudflare:workers";
import { and, asc, avg, count, desc, eq, exists, gt, gte, inArray, isNull, like, max, not, or, sql, sum } from "drizzle-orm";
import { type DrizzleSqliteDODatabase, drizzle } from "drizzle-orm/durable-sqlite";
import { migrate } from "drizzle-orm/durable-sqlite/migrator";
import { alias, union } from "drizzle-orm/sqlite-core";
import migrations from "../drizzle/migrations";
import * as schema from "./schema";
import { authors, books } from "./schema";

export class Library extends DurableObject {
  db: DrizzleSqliteDODatabase<typeof schema>;
  queries: string[] = [];

  constructor(ctx: DurableObjectState, env: unknown) {
    super(ctx, env as never);
    this.db = drizzle(ctx.storage, { schema, logger: { logQuery: (query) => void this.queries.push(query) } });
    void ctx.blockConcurrencyWhile(async () => migrate(this.db, migrations));
  }

  async fetch(request: Request): Promise<Response> {
    const step = new URL(request.url).pathname.slice(1) as keyof typeof steps;
    try {
      return Response.json((await steps[step](this.db, this)) ?? null);
    } catch (error) {
      const { name, message, cause } = error as Error & { cause?: Error };
      return Response.json({ name, message, cause: cause?.message ?? null }, { status: 500 });
    }
  }
}

type Db = DrizzleSqliteDODatabase<typeof schema>;

const steps = {
  tables: (db: Db) =>
    db.all(sql`SELECT type, name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' AND name NOT LIKE '\\_cf%' ESCAPE '\\' ORDER BY name`),
  migrations: (db: Db) => db.all(sql`SELECT created_at, length(hash) AS hash FROM __drizzle_migrations ORDER BY id`),
  migrateAgain: async (db: Db) => {
    await migrate(db, migrations);
    return db.get(sql`SELECT count(*) AS n FROM __drizzle_migrations`);
  },

  insert: async (db: Db) => {
    const made = await db
      .insert(authors)
      .values([
        { name: "Michael Ende", born: 1929 },
        { name: "Astrid Lindgren", born: 1907 },
        { name: "Nobody", active: false },
      ])
      .returning();
    const [book] = await db
      .insert(books)
      .values([
        {
          authorId: 1,
          title: "Momo",
          tags: ["time", "turtle"],
          price: 12.5,
          added: new Date("2026-01-02T03:04:05Z"),
          cover: Buffer.from([1, 2, 255]),
        },
        { authorId: 1, title: "Jim Knopf", price: 9.99 },
        { authorId: 2, title: "Pippi Långstrump", language: "en", tags: ["horse"] },
        { authorId: 2, title: "Ronja", price: 11 },
      ])
      .returning({ id: books.id, tags: books.tags });
    return { made, book };
  },
  conflict: async (db: Db) => {
    await db.insert(authors).values({ name: "Nobody" }).onConflictDoNothing();
    return db
      .insert(authors)
      .values({ name: "Nobody", born: 1 })
      .onConflictDoUpdate({ target: authors.name, set: { born: sql`excluded.born + 1` } })
      .returning();
  },
  unique: (db: Db) => db.insert(authors).values({ name: "Michael Ende" }),
  foreign: (db: Db) => db.insert(books).values({ authorId: 99, title: "Orphan" }),

  all: async (db: Db) =>
    (await db.select().from(books).orderBy(asc(books.id))).map((each) => ({ ...each, cover: each.cover && [...each.cover] })),
  where: (db: Db) =>
    db
      .select({ title: books.title, price: books.price })
      .from(books)
      .where(or(and(gte(books.price, 11), not(eq(books.language, "en"))), like(books.title, "P%"), inArray(books.id, [])))
      .orderBy(desc(books.price), books.title)
      .limit(3)
      .offset(0),
  get: (db: Db) => db.select().from(authors).where(eq(authors.name, "Astrid Lindgren")).get(),
  missing: (db: Db) => db.select().from(authors).where(isNull(authors.name)).get(),
  values: (db: Db) => db.select({ id: books.id, title: books.title }).from(books).where(gt(books.id, 2)).values(),
  join: (db: Db) =>
    db
      .select({ author: authors.name, title: books.title })
      .from(authors)
      .leftJoin(books, eq(books.authorId, authors.id))
      .orderBy(authors.id, books.id),
  innerJoin: (db: Db) => db.select().from(books).innerJoin(authors, eq(books.authorId, authors.id)).where(eq(books.title, "Ronja")),
  selfJoin: (db: Db) => {
    const other = alias(books, "other");
    return db
      .select({ a: books.title, b: other.title })
      .from(books)
      .innerJoin(other, and(eq(books.authorId, other.authorId), gt(other.id, books.id)))
      .orderBy(books.id);
  },
  group: (db: Db) =>
    db
      .select({ name: authors.name, n: count(books.id), sum: sum(books.price), avg: avg(books.price), max: max(books.price) })
      .from(authors)
      .leftJoin(books, eq(books.authorId, authors.id))
      .groupBy(authors.id)
      .having(({ n }) => gt(n, 0))
      .orderBy(authors.name),
  subquery: (db: Db) => {
    const cheap = db.$with("cheap").as(db.select().from(books).where(gt(books.price, 0)));
    return db.with(cheap).select({ title: cheap.title }).from(cheap).orderBy(cheap.price);
  },
  exists: (db: Db) =>
    db
      .select({ name: authors.name })
      .from(authors)
      .where(
        exists(
          db
            .select({ one: sql`1` })
            .from(books)
            .where(eq(books.authorId, authors.id)),
        ),
      )
      .orderBy(authors.id),
  union: (db: Db) =>
    union(db.select({ name: authors.name }).from(authors), db.select({ name: books.title }).from(books))
      .orderBy(sql`name`)
      .limit(4),
  count: (db: Db) => db.$count(books, eq(books.language, "de")),
  relations: (db: Db) =>
    db.query.authors.findMany({
      columns: { name: true },
      where: (table, { isNotNull }) => isNotNull(table.born),
      orderBy: (table) => desc(table.name),
      with: { books: { columns: { title: true, tags: true }, orderBy: (table) => table.title, limit: 5 } },
    }),
  relation: (db: Db) =>
    db.query.books.findFirst({
      where: eq(books.title, "Momo"),
      columns: { title: true, added: true },
      with: { author: true },
      extras: { loud: sql<string>`upper(${books.title})`.as("loud") },
    }),
  prepared: async (db: Db) => {
    const byAuthor = db
      .select({ title: books.title })
      .from(books)
      .where(eq(books.authorId, sql.placeholder("author")))
      .orderBy(books.title)
      .prepare();
    return [await byAuthor.all({ author: 1 }), await byAuthor.get({ author: 2 })];
  },

  update: (db: Db) =>
    db
      .update(books)
      .set({ price: sql`${books.price} * 2`, tags: ["new"] })
      .where(eq(books.authorId, 1))
      .returning({ title: books.title, price: books.price, tags: books.tags }),
  transaction: (db: Db) =>
    db.transaction((tx) => {
      tx.insert(authors).values({ name: "Erich Kästner", born: 1899 }).run();
      const { id } = tx.select({ id: authors.id }).from(authors).where(eq(authors.name, "Erich Kästner")).get()!;
      tx.insert(books).values({ authorId: id, title: "Emil" }).run();
      return tx.select({ n: count() }).from(books).get();
    }),
  rollback: (db: Db) => {
    let failure = "";
    try {
      db.transaction((tx) => {
        tx.delete(books).run();
        tx.rollback();
      });
    } catch (error) {
      failure = (error as Error).name;
    }
    return { failure, left: db.select({ n: count() }).from(books).get() };
  },
  throws: (db: Db) => {
    let failure = "";
    try {
      db.transaction((tx) => {
        tx.insert(authors).values({ name: "Undone" }).run();
        tx.insert(authors).values({ name: "Michael Ende" }).run();
      });
    } catch (error) {
      failure = (error as Error).name;
    }
    return { failure, left: db.select().from(authors).where(eq(authors.name, "Undone")).all() };
  },
  nested: (db: Db) =>
    db.transaction((tx) => {
      tx.insert(authors).values({ name: "Outer" }).run();
      try {
        tx.transaction((inner) => {
          inner.insert(authors).values({ name: "Inner" }).run();
          inner.rollback();
        });
      } catch {
        // The outer one goes on.
      }
      return tx
        .select({ name: authors.name })
        .from(authors)
        .where(inArray(authors.name, ["Outer", "Inner"]))
        .all();
    }),
  delete: async (db: Db) => {
    const gone = await db.delete(authors).where(eq(authors.name, "Erich Kästner")).returning({ name: authors.name });
    return { gone, books: await db.select({ title: books.title }).from(books).where(eq(books.title, "Emil")) };
  },
  raw: (db: Db) => ({
    run: typeof db.run(sql`UPDATE ${authors} SET born = 1930 WHERE id = ${1}`),
    born: db.get(sql`SELECT born FROM authors WHERE id = 1`),
  }),
  queries: (_: Db, library: Library) => library.queries.length > 0 && library.queries.filter((query) => query.startsWith("delete")),
};

type Env = { LIBRARY: DurableObjectNamespace<Library> };

export default {
  fetch(request: Request, env: Env): Promise<Response> {
    return env.LIBRARY.getByName("the library").fetch(request);
  },
};
