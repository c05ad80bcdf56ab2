interface Env {
  GREETING: string;
}

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const name = new URL(request.url).searchParams.get("name") ?? "World";
    return new Response(`${env.GREETING}, ${name}!\n`);
  },
};
