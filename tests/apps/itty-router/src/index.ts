import {
  AutoRouter,
  cors,
  createResponse,
  error,
  html,
  type IRequest,
  IttyRouter,
  jpeg,
  json,
  Router,
  status,
  StatusError,
  text,
  withContent,
  withCookies,
  withParams,
} from "itty-router";

type Env = { PLACE: string };

const small = IttyRouter({ base: "/small" });
small
  .all("*", (request: IRequest) => {
    request.seen = ["all"];
  })
  .get("/:a/:b?", ({ params, query, seen }: IRequest) => Response.json({ params, query, seen }))
  .get("/files/:path+", ({ params }: IRequest) => text(params.path))
  .all("*", () => error(404, "not in the small one"));

const middle = Router({
  base: "/middle",
  before: [withParams, withCookies],
  catch: (failure: Error & { status?: number }) => error(failure.status ?? 500, { message: failure.message, caught: true }),
  finally: [
    json,
    (response: Response) =>
      new Response(response.body, {
        ...response,
        status: response.status,
        headers: { ...Object.fromEntries(response.headers), "x-finally": "yes" },
      }),
  ],
});
middle
  .get("/cookies", ({ cookies }: IRequest) => cookies)
  .get("/user/:id", ({ id }: IRequest) => ({ id }))
  .get("/file/:name.:type", ({ name, type }: IRequest) => ({ name, type }))
  .get("/teapot", () => {
    throw new StatusError(418, "short and stout");
  })
  .get("/fails", () => {
    throw new Error("on purpose");
  });

const { preflight, corsify } = cors({
  origin: ["https://a.test", "https://b.test"],
  credentials: true,
  allowMethods: ["GET", "POST"],
  maxAge: 60,
  exposeHeaders: "X-A",
});
const shared = Router({ base: "/shared", before: [preflight], finally: [corsify] });
shared.get("/", () => text("shared"));

const router = AutoRouter<IRequest, [Env, ExecutionContext]>();
router
  .get("/", (_, env) => ({ place: env.PLACE }))
  .get("/hello/:name", ({ name, query }) => `hello, ${name}${query.loud ? "!" : ""}`)
  .get("/list", () => [1, 2, 3])
  .get("/html", () => html("<p>html</p>"))
  .get("/text", () => text("text", { status: 201, headers: { "x-own": "1" } }))
  .get("/json", () => json({ a: 1 }, { status: 202 }))
  .get("/status", () => status(204))
  .get("/image", () => jpeg(new Uint8Array([1, 2])))
  .get("/own", () => createResponse("text/x-own; charset=utf-8", (value: string) => value.toUpperCase())("own"))
  .post("/content", withContent, ({ content }) =>
    content instanceof FormData ? Object.fromEntries(content as never) : { type: typeof content, content },
  )
  .get("/request", ({ method, headers, url }) => ({ method, agent: headers.get("user-agent"), path: new URL(url).pathname }))
  .get("/error", () => error(422, { field: "name", reason: "missing" }))
  .get("/throws", () => {
    throw new StatusError(403, { message: "forbidden", detail: 1 });
  })
  .get("/late", async () => {
    await new Promise((resolve) => setTimeout(resolve, 10));
    return { late: true };
  })
  .all("/small/*", small.fetch)
  .all("/middle/*", middle.fetch)
  .all("/shared/*", shared.fetch);

export default { ...router };
