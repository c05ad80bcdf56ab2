import { renderToReadableStream, renderToStaticMarkup, renderToString } from "react-dom/server";
import { prerender } from "react-dom/static";
import { Broken, Document, Escapes, Form, Hooks, Late, Page } from "./page";

const html = (body: BodyInit | null, status = 200) =>
  new Response(body, { status, headers: { "Content-Type": "text/html; charset=utf-8" } });

const routes: Record<string, (request: Request) => Response | Promise<Response>> = {
  /** The shell at once, the rest when it comes. */
  async "/"() {
    const stream = await renderToReadableStream(<Page />, {
      bootstrapScriptContent: "window.started = true",
      bootstrapModules: ["/client.js"],
      identifierPrefix: "app",
      nonce: "nonce",
      onError: (error) => (error as Error).name,
    });
    return html(stream);
  },

  /** Everything at once, as a crawler wants it. */
  async "/all"() {
    const stream = await renderToReadableStream(<Page />, { identifierPrefix: "app" });
    await stream.allReady;
    return html(stream);
  },

  "/string": () => html(renderToString(<Escapes text={`<&"'>`} />)),
  "/static": () => html(renderToStaticMarkup(<Escapes text={`<&"'>`} />)),
  "/hooks": () => html(renderToString(<Hooks start={3} />)),
  "/form": () => html(renderToStaticMarkup(<Form />)),

  async "/prerender"() {
    const { prelude, postponed } = await prerender(
      <Document title="prerendered">
        <Late after={30} text="waited for" />
      </Document>,
    );
    return html(`${await new Response(prelude).text()}<!-- ${postponed === null ? "complete" : "postponed"} -->`);
  },

  /** An error in the shell rejects. */
  async "/broken-shell"() {
    try {
      return html(await renderToReadableStream(<Broken />, { onError() {} }));
    } catch (error) {
      return html(renderToStaticMarkup(<h1>{(error as Error).message}</h1>), 500);
    }
  },

  async "/abort"() {
    const controller = new AbortController();
    const stream = await renderToReadableStream(
      <Document title="aborted">
        <Late after={10_000} text="never" />
      </Document>,
      { signal: controller.signal, onError: () => "a digest" },
    );
    setTimeout(() => controller.abort(new Error("long enough")), 50);
    return html(stream);
  },

  /** Ten thousand rows, which take many chunks. */
  async "/large"() {
    const rows = Array.from({ length: 10_000 }, (_, i) => <li key={i}>row {i}</li>);
    return html(await renderToReadableStream(<ol>{rows}</ol>));
  },

  /** A page that goes through a transform on its way. */
  async "/transformed"() {
    const stream = await renderToReadableStream(<p>lower case</p>);
    const upper = new TransformStream<string, string>({
      transform: (chunk, controller) => controller.enqueue(chunk.toUpperCase()),
    });
    return html(stream.pipeThrough(new TextDecoderStream()).pipeThrough(upper).pipeThrough(new TextEncoderStream()));
  },
};

export default {
  async fetch(request: Request): Promise<Response> {
    const route = routes[new URL(request.url).pathname];
    return route ? await route(request) : html("not found", 404);
  },
};
