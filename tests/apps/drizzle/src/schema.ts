import { relations } from "drizzle-orm";
import { blob, index, integer, real, sqliteTable, text } from "drizzle-orm/sqlite-core";

export const authors = sqliteTable("authors", {
  id: integer("id").primaryKey({ autoIncrement: true }),
  name: text("name").notNull().unique(),
  born: integer("born"),
  active: integer("active", { mode: "boolean" }).notNull().default(true),
});

export const books = sqliteTable(
  "books",
  {
    id: integer("id").primaryKey({ autoIncrement: true }),
    authorId: integer("author_id")
      .notNull()
      .references(() => authors.id, { onDelete: "cascade" }),
    title: text("title").notNull(),
    tags: text("tags", { mode: "json" }).$type<string[]>().notNull().default([]),
    price: real("price"),
    cover: blob("cover", { mode: "buffer" }),
    added: integer("added", { mode: "timestamp" }),
    language: text("language", { enum: ["de", "en"] })
      .notNull()
      .default("de"),
  },
  (table) => [index("books_language").on(table.language, table.title)],
);

export const authorRelations = relations(authors, ({ many }) => ({ books: many(books) }));
export const bookRelations = relations(books, ({ one }) => ({
  author: one(authors, { fields: [books.authorId], references: [authors.id] }),
}));
