interface Env {
  GREETING: string;
}

/** Text that is safe inside an HTML element. */
function escapeHtml(text: string): string {
  return text.replace(/[&<]/g, (c) => (c === "&" ? "&amp;" : "&lt;"));
}

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const name = new URL(request.url).searchParams.get("name") ?? "World";
    const page = `<!doctype html>
<title>Hello</title>
<h1>${env.GREETING}, ${escapeHtml(name)}!</h1>
<p>Edit src/index.ts and save: this page changes.</p>
`;
    return new Response(page, { headers: { "content-type": "text/html;charset=UTF-8" } });
  },
};
