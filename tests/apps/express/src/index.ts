import { httpServerHandler } from "cloudflare:node";
import { Readable } from "node:stream";
import cookieParser from "cookie-parser";
import cors from "cors";
import express, { type NextFunction, type Request, type Response } from "express";
import helmet from "helmet";
import multer from "multer";

const app = express();
app.set("trust proxy", true);
app.use(cookieParser("a secret of the tests"));

app.get("/", (_, response) => {
  response.send("Hello, world!");
});
app.get("/users/:id{/:tab}", (request, response) => {
  response.json({ params: request.params, query: request.query, path: request.path, secure: request.secure });
});
app.get("/files/*path", (request, response) => {
  response.type("text").send((request.params as { path: string[] }).path.join(" > "));
});
app.all("/request", (request, response) => {
  const { method, originalUrl, httpVersion, xhr } = request;
  response.json({
    method,
    originalUrl,
    httpVersion,
    xhr,
    accepts: request.accepts("html", "json"),
    is: request.is("json"),
    sent: request.get("X-Sent") ?? null,
  });
});

app.post("/json", express.json({ limit: 100 }), (request, response) => {
  response.status(201).set("X-A", ["1", "2"]).json({ got: request.body });
});
app.post("/form", express.urlencoded({ extended: true }), (request, response) => {
  response.json(request.body);
});
app.post("/text", express.text(), (request, response) => {
  response.send(request.body.toUpperCase());
});
app.post("/raw", express.raw(), (request, response) => {
  response.send(Buffer.from(request.body).reverse());
});
app.post("/upload", multer({ storage: multer.memoryStorage(), limits: { fileSize: 1000 } }).single("file"), (request, response) => {
  const { originalname, mimetype, size, buffer } = request.file!;
  response.json({ fields: request.body, file: { originalname, mimetype, size, text: buffer.toString() } });
});
app.post("/echo", (request, response) => {
  response.type("application/octet-stream");
  request.pipe(response);
});

app.get("/cookies", (request, response) => {
  response.json({ cookies: request.cookies, signed: request.signedCookies });
});
app.get("/cookies/set", (_, response) => {
  response.cookie("a", "ä b", { httpOnly: true, sameSite: "lax", maxAge: 0 });
  response.cookie("s", "signed", { signed: true }).clearCookie("old").sendStatus(204);
});

app.get("/stream", (_, response) => {
  response.type("text");
  response.write("first\n");
  setTimeout(() => response.end("second"), 200);
});
app.get("/pipe", (_, response) => {
  Readable.from(["a", "b", "c"]).pipe(response.type("text"));
});
app.get("/redirect", (_, response) => response.redirect(301, "/elsewhere?a=1"));
app.get("/format", (_, response) => {
  response.format({
    text: () => response.send("text"),
    html: () => response.send("<p>html</p>"),
    json: () => response.json({ json: true }),
  });
});
app.get("/etag", (_, response) => {
  response.set("Cache-Control", "max-age=60").send("the same every time");
});
app.get("/jsonp", (_, response) => response.jsonp({ a: 1 }));
app.get("/attachment", (_, response) => {
  response.attachment("€.txt").links({ next: "/2" }).vary("Accept").send("attached");
});

app.use("/shared", cors({ origin: ["https://a.test"], credentials: true, maxAge: 60 }), (_, response) => {
  response.send("shared");
});
app.use("/secure", helmet(), (_, response) => {
  response.send("secure");
});

const api = express.Router({ mergeParams: true });
api.param("n", (request, _, next, value) => {
  (request as Request & { n: number }).n = Number(value) * 2;
  next();
});
api.use((request, response, next) => {
  response.locals.trace = [request.baseUrl];
  next();
});
api
  .route("/items/:n")
  .get((request, response, next) => {
    response.locals.trace.push(request.url);
    next();
  })
  .get((request, response) => {
    response.json({ trace: response.locals.trace, n: (request as Request & { n: number }).n, params: request.params });
  });
app.use("/api/:version", api);

app.get("/fails", () => {
  throw new Error("on purpose");
});
app.get("/fails/later", async () => {
  await Promise.resolve();
  throw Object.assign(new Error("later"), { status: 422 });
});
app.get("/handled", (_, __, next) => next(Object.assign(new Error("for the handler"), { handled: true })));
app.use((error: Error & { handled?: boolean }, _: Request, response: Response, next: NextFunction) => {
  if (!error.handled) return next(error);
  response.status(400).json({ error: error.message });
});

app.listen(3000);

export default httpServerHandler({ port: 3000 });
