import { GraphQLError, GraphQLScalarType, Kind } from "graphql";
import { createPubSub, createSchema, filter, map, pipe, Repeater } from "graphql-yoga";

type Note = { id: string; text: string; tags: string[]; author: string };

const notes: Note[] = [{ id: "1", text: "first", tags: ["a"], author: "ada" }];
const pubSub = createPubSub<{ added: [Note] }>();

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

export const schema = createSchema<{ OWNER: string; request: Request }>({
  typeDefs: /* GraphQL */ `
    scalar Day
    scalar File
    enum Order {
      UP
      DOWN
    }
    interface Node {
      id: ID!
    }
    "A note."
    type Note implements Node {
      id: ID!
      text(length: Int = 100): String!
      tags: [String!]!
      author: Author!
    }
    type Author implements Node {
      id: ID!
      name: String
      notes: [Note!]!
    }
    union Found = Note | Author
    input NewNote {
      text: String!
      tags: [String!] = []
    }
    type Query {
      hello(name: String): String!
      owner: String!
      agent: String
      notes(order: Order = UP): [Note!]!
      node(id: ID!): Node
      search(text: String!): [Found!]!
      day(after: Day!): Day!
      wrong: String
      secret: String
      required: String!
      slow(ms: Int!): Int
    }
    type Mutation {
      add(note: NewNote!): Note!
      upload(file: File!): String!
    }
    type Subscription {
      countdown(from: Int!): Int!
      broken: Int!
      added(tag: String): Note!
    }
  `,
  resolvers: {
    Day: new GraphQLScalarType({
      name: "Day",
      serialize: (value) => (value as Date).toISOString().slice(0, 10),
      parseValue: (value) => new Date(String(value)),
      parseLiteral: (node) => {
        if (node.kind !== Kind.STRING) throw new GraphQLError("a day is a string", { nodes: node });
        return new Date(node.value);
      },
    }),
    Query: {
      hello: (_, { name }) => `Hello, ${name ?? "world"}!`,
      owner: (_, __, { OWNER }) => OWNER,
      agent: (_, __, { request }) => request.headers.get("user-agent"),
      notes: (_, { order }) => (order === "UP" ? notes : notes.toReversed()),
      node: (_, { id }) => notes.find((note) => note.id === id) ?? { id, name: "Ada" },
      search: async (_, { text }) => [...notes.filter((note) => note.text.includes(text)), { id: "ada", name: "Ada" }],
      day: (_, { after }) => new Date(after.getTime() + 86_400_000),
      wrong() {
        throw new GraphQLError("wrong, and it may be said", {
          extensions: { code: "WRONG", http: { status: 422, headers: { "x-error": "yes" } } },
        });
      },
      secret() {
        throw new Error("a secret of the server");
      },
      required: () => null,
      slow: async (_, { ms }) => {
        await pause(ms);
        return ms;
      },
    },
    Node: { __resolveType: (value: object) => ("text" in value ? "Note" : "Author") },
    Found: { __resolveType: (value: object) => ("text" in value ? "Note" : "Author") },
    Note: {
      text: ({ text }, { length }) => text.slice(0, length),
      author: ({ author }) => ({ id: author, name: author[0].toUpperCase() + author.slice(1) }),
    },
    Author: { notes: ({ id }) => notes.filter(({ author }) => author === id) },
    Mutation: {
      add: (_, { note }) => {
        const added = { id: String(notes.length + 1), author: "ada", ...note };
        notes.push(added);
        pubSub.publish("added", added);
        return added;
      },
      upload: async (_, { file }: { file: File }) => `${file.name} ${file.type} ${await file.text()}`,
    },
    Subscription: {
      countdown: {
        async *subscribe(_, { from }) {
          for (let n = from; n >= 0; n--) {
            yield { countdown: n };
            await pause(20);
          }
        },
      },
      broken: {
        subscribe: () =>
          new Repeater<{ broken: number }>(async (push, stop) => {
            await push({ broken: 1 });
            stop(new GraphQLError("broken on the way"));
          }),
      },
      added: {
        subscribe: (_, { tag }) =>
          pipe(
            pubSub.subscribe("added"),
            filter((note) => !tag || note.tags.includes(tag)),
            map((added) => ({ added })),
          ),
      },
    },
  },
});
