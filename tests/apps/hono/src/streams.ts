import { Hono } from "hono";
import { stream, streamSSE, streamText } from "hono/streaming";

export const streams = new Hono()
  .get("/bytes", (c) =>
    stream(c, async (out) => {
      await out.write(new Uint8Array([0x61, 0x62]));
      await out.pipe(new Blob(["cd"]).stream());
      await out.write("ef");
    }),
  )
  .get("/text", (c) =>
    streamText(c, async (out) => {
      await out.writeln("first");
      await out.sleep(300);
      await out.write("second");
    }),
  )
  .get("/events", (c) =>
    streamSSE(c, async (out) => {
      for (let id = 0; id < 3; id++) {
        await out.writeSSE({ data: `message ${id}\nof two lines`, event: "tick", id: String(id), retry: 10 });
        await out.sleep(20);
      }
    }),
  )
  .get("/fails", (c) =>
    streamText(
      c,
      async (out) => {
        await out.write("before; ");
        throw new Error("in the middle");
      },
      async (error, out) => {
        await out.write(`caught ${error.message}`);
      },
    ),
  );
