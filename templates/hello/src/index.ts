// An imported .html file is its text.
import page from "./page.html";

export default {
  async fetch(request: Request): Promise<Response> {
    const url = new URL(request.url);
    switch (url.pathname) {
      case "/":
        return new Response(page, { headers: { "Content-Type": "text/html; charset=utf-8" } });
      case "/api/hello":
        return Response.json({ hello: url.searchParams.get("name") ?? "world" });
      default:
        return new Response("Not found\n", { status: 404 });
    }
  },
};
