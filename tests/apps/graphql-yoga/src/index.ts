import { createYoga } from "graphql-yoga";
import { schema } from "./schema";

type Env = { OWNER: string };

const yoga = createYoga<Env & ExecutionContext>({
  schema,
  maskedErrors: { isDev: false },
  logging: false,
  graphiql: { title: "Notes" },
  landingPage: false,
  batching: { limit: 2 },
  cors: { origin: "https://a.test", credentials: true },
  plugins: [
    {
      onResponse({ response }) {
        response.headers.set("x-plugin", "yes");
      },
    },
  ],
});

export default { fetch: (request: Request, env: Env, ctx: ExecutionContext) => yoga.fetch(request, env, ctx) };
