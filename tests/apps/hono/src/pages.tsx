import { Hono } from "hono";
import { accepts } from "hono/accepts";
import { css, keyframes, Style } from "hono/css";
import { html, raw } from "hono/html";
import { createContext, ErrorBoundary, type PropsWithChildren, useContext } from "hono/jsx";
import { jsxRenderer, useRequestContext } from "hono/jsx-renderer";
import { renderToReadableStream, Suspense } from "hono/jsx/streaming";

const Theme = createContext("light");
const Themed = () => <b class={useContext(Theme)}>{useRequestContext().req.path}</b>;

const Late = async ({ after, text }: { after: number; text: string }) => {
  await new Promise((resolve) => setTimeout(resolve, after));
  return <p>{text}</p>;
};

const Broken = () => {
  throw new Error("a broken part");
};

const List = ({ children }: PropsWithChildren) => <ul>{children}</ul>;

export const pages = new Hono()
  .get("/html", (c) =>
    c.html(
      html`<p>${"<escaped> & safe"}</p>
        ${raw("<hr>")}${[1, 2].map((n) => html`<i>${n}</i>`)}`,
    ),
  )
  .get("/jsx", (c) =>
    c.html(
      <List>
        {["a", "<b>", null, false, 3].map((each) => (
          <li title={`"${each}"`}>{each}</li>
        ))}
        <li dangerouslySetInnerHTML={{ __html: "<em>raw</em>" }} style={{ color: "red", marginTop: 3 }} />
      </List>,
    ),
  )
  .get("/css", (c) => {
    const turn = keyframes`from { rotate: 0 } to { rotate: 1turn }`;
    const big = css`
      font-size: 2em;
      animation: ${turn} 1s;
    `;
    return c.html(
      <html lang="en">
        <head>
          <Style />
        </head>
        <body class={big}>styled</body>
      </html>,
    );
  })
  .use(
    "/layout/*",
    jsxRenderer(({ children, title }: PropsWithChildren<{ title: string }>) => (
      <html lang="en">
        <title>{title}</title>
        {children}
      </html>
    )),
  )
  .get("/layout/:name", (c) =>
    c.render(
      <Theme.Provider value="dark">
        <Themed />
      </Theme.Provider>,
      { title: c.req.param("name") } as never,
    ),
  )
  .get("/suspense", (c) => {
    const stream = renderToReadableStream(
      <main>
        <Suspense fallback={<p>waiting</p>}>
          <Late after={300} text="late" />
        </Suspense>
        <Suspense fallback={<p>waiting too</p>}>
          <Late after={100} text="soon" />
        </Suspense>
      </main>,
    );
    return c.body(stream, { headers: { "Content-Type": "text/html; charset=UTF-8" } });
  })
  .get("/boundary", (c) =>
    c.html(
      <ErrorBoundary fallbackRender={(error) => <p>caught {error.message}</p>}>
        <Broken />
      </ErrorBoundary>,
    ),
  )
  .get("/accepts", (c) => c.text(accepts(c, { header: "Accept", supports: ["text/html", "application/json"], default: "text/html" })));
