import { Hono } from "hono";
import { basicAuth } from "hono/basic-auth";
import { bearerAuth } from "hono/bearer-auth";
import { bodyLimit } from "hono/body-limit";
import { every, except, some } from "hono/combine";
import { compress } from "hono/compress";
import { contextStorage, getContext } from "hono/context-storage";
import { cors } from "hono/cors";
import { csrf } from "hono/csrf";
import { etag } from "hono/etag";
import { createMiddleware } from "hono/factory";
import { HTTPException } from "hono/http-exception";
import { languageDetector } from "hono/language";
import { methodOverride } from "hono/method-override";
import { poweredBy } from "hono/powered-by";
import { prettyJSON } from "hono/pretty-json";
import { NONCE, secureHeaders } from "hono/secure-headers";
import { timeout } from "hono/timeout";
import { appendTrailingSlash, trimTrailingSlash } from "hono/trailing-slash";

type App = { Variables: { order: string[] } };
const app = new Hono<App>();

const mark = (name: string) =>
  createMiddleware<App>(async (c, next) => {
    c.set("order", [...(c.get("order") ?? []), `${name} in`]);
    await next();
    c.header("X-Order", `${c.res.headers.get("X-Order") ?? ""}${name} out;`);
  });
app.get("/order", mark("a"), mark("b"), (c) => c.json(c.get("order")));

app.use(
  "/cors",
  cors({
    origin: ["https://a.test", "https://b.test"],
    allowMethods: ["GET", "PUT"],
    allowHeaders: ["X-A"],
    exposeHeaders: ["X-B"],
    maxAge: 60,
    credentials: true,
  }),
);
app.get("/cors", (c) => c.text("shared"));

app.use("/etag", etag());
app.get("/etag", (c) => c.text("the same every time"));
app.use("/weak", etag({ weak: true }));
app.get("/weak", (c) => c.json({ weak: true }));

app.use("/basic", basicAuth({ username: "ada", password: "lovelace" }));
app.get("/basic", (c) => c.text("known"));
app.use("/bearer", bearerAuth({ token: ["token-1", "token-2"] }));
app.get("/bearer", (c) => c.text("borne"));

app.post("/limit", bodyLimit({ maxSize: 10, onError: (c) => c.text("too long", 413) }), async (c) => c.text(await c.req.text()));

app.use("/compress", compress());
app.get("/compress", (c) => c.text("again and again. ".repeat(200)));
app.get("/compress/none", (c) => c.text("short"));

app.use(
  "/secure",
  secureHeaders({
    contentSecurityPolicy: { defaultSrc: ["'self'"], scriptSrc: ["'self'", "https://scripts.test"] },
    permissionsPolicy: { camera: [], geolocation: ["self"] },
  }),
);
app.get("/secure", (c) => c.text("secure"));
app.use("/nonce", secureHeaders({ contentSecurityPolicy: { scriptSrc: [NONCE] } }));
app.get("/nonce", (c) => c.text(String(c.res.headers.get("x") ?? typeof c.get("secureHeadersNonce" as never))));

app.use("/csrf", csrf({ origin: "https://a.test" }));
app.post("/csrf", (c) => c.text("trusted"));

app.use("/pretty", prettyJSON());
app.get("/pretty", (c) => c.json({ a: [1, { b: 2 }] }));
app.use("/powered", poweredBy());
app.get("/powered", (c) => c.text("powered"));

app.use(
  "/slow",
  timeout(50, () => new HTTPException(408, { message: "too slow" })),
);
app.get("/slow", async (c) => {
  await new Promise((resolve) => setTimeout(resolve, 2000));
  return c.text("slow");
});

app.use(
  "/language",
  languageDetector({ supportedLanguages: ["en", "de", "fr"], fallbackLanguage: "en", order: ["querystring", "header"], caches: false }),
);
app.get("/language", (c) => c.text(c.get("language" as never)));

app.use("/context", contextStorage());
const deep = async () => {
  await new Promise((resolve) => setTimeout(resolve, 1));
  return getContext<App>().req.path;
};
app.get("/context", async (c) => c.text(await deep()));

app.use(
  "/some/*",
  some(every(bearerAuth({ token: "t" }), mark("every")), except("/with/some/open", basicAuth({ username: "u", password: "p" }))),
);
app.get("/some/:what", (c) => c.json([c.req.param("what"), c.get("order") ?? []]));

const slashes = new Hono();
slashes.use("/trim/*", trimTrailingSlash());
slashes.use("/append/*", appendTrailingSlash());
slashes.get("/trim/x", (c) => c.text("trimmed"));
slashes.get("/append/x/", (c) => c.text("appended"));
app.route("/slash", slashes);

const overridden = new Hono();
overridden.use("/posts", methodOverride({ app: overridden }));
overridden.delete("/posts", (c) => c.text("deleted"));
overridden.post("/posts", (c) => c.text("posted"));
app.mount("/override", overridden.fetch);

export { app as middlewares };
