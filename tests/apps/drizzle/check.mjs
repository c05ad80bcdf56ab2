export default async function ({ ask }) {
  const step = (name, body) => ask(`GET /${name}`, { body });

  await step("tables", [
    { type: "table", name: "__drizzle_migrations" },
    { type: "table", name: "authors" },
    { type: "index", name: "authors_name_unique" },
    { type: "table", name: "books" },
    { type: "index", name: "books_language" },
  ]);
  await step("migrations", [
    { created_at: 1760000000000, hash: 0 },
    { created_at: 1760000001000, hash: 0 },
  ]);
  await step("migrateAgain", { n: 2 });

  const ende = { id: 1, name: "Michael Ende", born: 1929, active: true };
  const lindgren = { id: 2, name: "Astrid Lindgren", born: 1907, active: true };
  await step("insert", {
    made: [ende, lindgren, { id: 3, name: "Nobody", born: null, active: false }],
    book: { id: 1, tags: ["time", "turtle"] },
  });
  await step("conflict", [{ id: 3, name: "Nobody", born: 2, active: false }]);
  const failure = (message) => ({ status: 500, body: { name: "Error", message, cause: null } });
  await ask("GET /unique", failure(/^UNIQUE constraint failed: authors\.name/));
  await ask("GET /foreign", failure(/^FOREIGN KEY constraint failed/));

  const book = (id, authorId, title, rest = {}) => ({
    id,
    authorId,
    title,
    tags: [],
    price: null,
    cover: null,
    added: null,
    language: "de",
    ...rest,
  });
  const momo = { tags: ["time", "turtle"], price: 12.5, added: "2026-01-02T03:04:05.000Z", cover: [1, 2, 255] };
  await step("all", [
    book(1, 1, "Momo", momo),
    book(2, 1, "Jim Knopf", { price: 9.99 }),
    book(3, 2, "Pippi Långstrump", { language: "en", tags: ["horse"] }),
    book(4, 2, "Ronja", { price: 11 }),
  ]);
  await step("where", [
    { title: "Momo", price: 12.5 },
    { title: "Ronja", price: 11 },
    { title: "Pippi Långstrump", price: null },
  ]);
  await step("get", lindgren);
  await step("missing", null);
  await step("values", [
    [3, "Pippi Långstrump"],
    [4, "Ronja"],
  ]);
  await step("join", [
    { author: "Michael Ende", title: "Momo" },
    { author: "Michael Ende", title: "Jim Knopf" },
    { author: "Astrid Lindgren", title: "Pippi Långstrump" },
    { author: "Astrid Lindgren", title: "Ronja" },
    { author: "Nobody", title: null },
  ]);
  await step("innerJoin", [{ books: book(4, 2, "Ronja", { price: 11 }), authors: lindgren }]);
  await step("selfJoin", [
    { a: "Momo", b: "Jim Knopf" },
    { a: "Pippi Långstrump", b: "Ronja" },
  ]);
  await step("group", [
    { name: "Astrid Lindgren", n: 2, sum: "11", avg: "11", max: 11 },
    { name: "Michael Ende", n: 2, sum: /^22\.49/, avg: /^11\.245/, max: 12.5 },
  ]);
  await step("subquery", [{ title: "Jim Knopf" }, { title: "Ronja" }, { title: "Momo" }]);
  await step("exists", [{ name: "Michael Ende" }, { name: "Astrid Lindgren" }]);
  await step("union", [{ name: "Astrid Lindgren" }, { name: "Jim Knopf" }, { name: "Michael Ende" }, { name: "Momo" }]);
  await step("count", 3);
  await step("relations", [
    { name: "Nobody", books: [] },
    {
      name: "Michael Ende",
      books: [
        { title: "Jim Knopf", tags: [] },
        { title: "Momo", tags: momo.tags },
      ],
    },
    {
      name: "Astrid Lindgren",
      books: [
        { title: "Pippi Långstrump", tags: ["horse"] },
        { title: "Ronja", tags: [] },
      ],
    },
  ]);
  await step("relation", { title: "Momo", added: momo.added, author: ende, loud: "MOMO" });
  await step("prepared", [[{ title: "Jim Knopf" }, { title: "Momo" }], { title: "Pippi Långstrump" }]);

  await step("update", [
    { title: "Momo", price: 25, tags: ["new"] },
    { title: "Jim Knopf", price: 19.98, tags: ["new"] },
  ]);
  await step("transaction", { n: 5 });
  await step("rollback", { failure: "DrizzleError", left: { n: 5 } });
  await step("throws", { failure: "Error", left: [] });
  await step("nested", [{ name: "Outer" }]);
  await step("delete", { gone: [{ name: "Erich Kästner" }], books: [] });
  await step("raw", { run: "undefined", born: { born: 1930 } });
  await step("queries", ['delete from "books"', 'delete from "authors" where "authors"."name" = ? returning "name"']);
}
