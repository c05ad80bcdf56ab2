import stream, { Duplex, PassThrough, Readable, Transform, Writable } from "node:stream";
import consumers from "node:stream/consumers";
import promises from "node:stream/promises";

import { caught, suite } from "./suite.js";
import recorded from "./recorded.js";

const { test, handler } = suite(recorded);
export default handler;

const collect = async (readable) => {
  const out = [];
  for await (const chunk of readable) out.push(typeof chunk === "string" ? chunk : chunk.toString());
  return out;
};
const cases = {
  "Readable.from": () => collect(Readable.from(["a", "b"])),
  "Readable.from a text": () => collect(Readable.from("abc")),
  "Readable.from a Buffer": () => collect(Readable.from(Buffer.from("abc"))),
  "Readable: read and push": () => {
    const parts = ["a", "b", null];
    return collect(
      new Readable({
        read() {
          this.push(parts.shift());
        },
      }),
    );
  },
  "Readable: encoding": () =>
    collect(
      new Readable({
        encoding: "hex",
        read() {
          this.push(Buffer.from("a"));
          this.push(null);
        },
      }),
    ),
  "Readable: object mode": async () => {
    const out = [];
    for await (const each of Readable.from([{ a: 1 }, 2])) out.push(each);
    return out;
  },
  "Readable: events in order": () =>
    new Promise((resolve) => {
      const out = [];
      const readable = Readable.from(["a"]);
      for (const name of ["data", "end", "close", "pause", "resume"])
        readable.on(name, (value) => {
          out.push([name, value]);
          if (name === "close") resolve(out);
        });
    }),
  "Readable: an error": async () => {
    const readable = new Readable({
      read() {
        this.destroy(new RangeError("boom"));
      },
    });
    return caught(() => collect(readable));
  },
  "Readable: push after the end": () => {
    const readable = new Readable({ read() {} });
    const errors = [];
    readable.on("error", (error) => errors.push(error.code));
    readable.push(null);
    readable.push("a");
    return scheduler.wait(5).then(() => errors);
  },
  "Readable: setEncoding splits well": () => {
    const readable = new Readable({ read() {} });
    readable.setEncoding("utf8");
    readable.push(Buffer.from([0xe2, 0x82]));
    readable.push(Buffer.from([0xac]));
    readable.push(null);
    return collect(readable);
  },
  "Readable: map, filter, take, toArray": () =>
    Readable.from([1, 2, 3, 4])
      .map((n) => n * 2)
      .filter((n) => n > 2)
      .take(2)
      .toArray(),
  "Readable: reduce, some, find": async () => [
    await Readable.from([1, 2]).reduce((a, b) => a + b, 0),
    await Readable.from([1, 2]).some((n) => n > 1),
    await Readable.from([1, 2]).find((n) => n > 1),
  ],
  "Readable: unread state": () => {
    const {
      readable,
      readableEnded,
      readableFlowing,
      readableLength,
      readableHighWaterMark,
      readableObjectMode,
      destroyed,
      errored,
      closed,
    } = new Readable({ read() {} });
    return {
      readable,
      readableEnded,
      readableFlowing,
      readableLength,
      readableHighWaterMark,
      readableObjectMode,
      destroyed,
      errored,
      closed,
    };
  },
  "Readable.toWeb": async () => new Response(Readable.toWeb(Readable.from([Buffer.from("a"), Buffer.from("b")]))).text(),
  "Readable.fromWeb": async () => (await Readable.fromWeb(new Blob(["abc"]).stream()).toArray()).map(String),
  "Writable: write and end": () =>
    new Promise((resolve) => {
      const out = [];
      const writable = new Writable({
        write(chunk, encoding, done) {
          out.push([chunk.toString(), encoding]);
          done();
        },
        final(done) {
          out.push("final");
          done();
        },
      });
      writable.on("finish", () => resolve(out));
      writable.write("a");
      writable.write(Buffer.from("b"));
      writable.end("c");
    }),
  "Writable: back-pressure": () => {
    const writable = new Writable({
      highWaterMark: 3,
      write(chunk, encoding, done) {
        setTimeout(done, 1);
      },
    });
    const out = [writable.write("ab"), writable.write("c"), writable.writableLength, writable.writableNeedDrain];
    return new Promise((resolve) => writable.on("drain", () => resolve([...out, writable.writableLength])));
  },
  "Writable: an error": () =>
    new Promise((resolve) => {
      const writable = new Writable({
        write(chunk, encoding, done) {
          done(new RangeError("boom"));
        },
      });
      writable.on("error", (error) => resolve(error.message));
      writable.write("a");
    }),
  "Writable: write after end": () =>
    new Promise((resolve) => {
      const writable = new Writable({
        write(chunk, encoding, done) {
          done();
        },
      });
      writable.on("error", (error) => resolve([error.code, error.message]));
      writable.end();
      writable.write("a");
    }),
  "Writable: null": () => new Writable({ write() {} }).write(null),
  "Writable: a number": () => new Writable({ write() {} }).write(5),
  "Writable: cork": () => {
    const out = [];
    const writable = new Writable({
      writev(chunks, done) {
        out.push(chunks.map(({ chunk }) => chunk.toString()));
        done();
      },
    });
    writable.cork();
    writable.write("a");
    writable.write("b");
    writable.uncork();
    return scheduler.wait(5).then(() => out);
  },
  "Writable: decodeStrings": () => {
    const out = [];
    new Writable({
      decodeStrings: false,
      write(chunk, encoding, done) {
        out.push([chunk, encoding]);
        done();
      },
    }).write("é", "latin1");
    return out;
  },
  Transform: () =>
    collect(
      Readable.from(["a", "b"]).pipe(
        new Transform({
          objectMode: true,
          transform(chunk, encoding, done) {
            done(null, chunk + chunk);
          },
          flush(done) {
            this.push("end");
            done();
          },
        }),
      ),
    ),
  PassThrough: () => collect(Readable.from(["a"]).pipe(new PassThrough())),
  Duplex: async () => {
    const out = [];
    const duplex = new Duplex({
      read() {
        this.push("r");
        this.push(null);
      },
      write(chunk, encoding, done) {
        out.push(chunk.toString());
        done();
      },
    });
    duplex.end("w");
    return [await collect(duplex), out];
  },
  "Duplex.from": () => collect(Duplex.from(["a", "b"])),
  pipeline: async () => {
    const out = [];
    await promises.pipeline(
      Readable.from(["a", "b"]),
      async function* (source) {
        for await (const chunk of source) yield String(chunk).toUpperCase();
      },
      new Writable({
        write(chunk, encoding, done) {
          out.push(chunk.toString());
          done();
        },
      }),
    );
    return out;
  },
  "pipeline: an error": () =>
    promises.pipeline(
      Readable.from(["a"]),
      new Transform({
        transform(chunk, encoding, done) {
          done(new RangeError("boom"));
        },
      }),
      new PassThrough(),
    ),
  "pipeline: a callback": () =>
    new Promise((resolve) => stream.pipeline(Readable.from(["a"]), new PassThrough().resume(), (error) => resolve(error ?? "done"))),
  finished: async () => {
    const readable = Readable.from(["a"]).resume();
    return promises.finished(readable);
  },
  "finished: premature": async () => {
    const readable = new Readable({ read() {} });
    setTimeout(() => readable.destroy(), 1);
    return caught(() => promises.finished(readable));
  },
  compose: () =>
    collect(
      stream
        .compose(async function* (source) {
          for await (const chunk of source) yield String(chunk) + "!";
        })
        .end("a"),
    ),
  addAbortSignal: async () => {
    const controller = new AbortController();
    const readable = stream.addAbortSignal(controller.signal, new Readable({ read() {} }));
    controller.abort();
    return caught(() => collect(readable));
  },
  consumers: async () => [
    await consumers.text(Readable.from(["a", "b"])),
    await consumers.json(Readable.from(['{"a":1}'])),
    (await consumers.buffer(Readable.from(["a"]))).toString(),
    (await consumers.arrayBuffer(Readable.from(["ab"]))).byteLength,
    (await consumers.blob(Readable.from(["abc"]))).size,
  ],
  "pipe: unpipe": () => {
    const readable = new Readable({ read() {} });
    const target = new PassThrough();
    const out = [];
    target.on("unpipe", () => out.push("unpipe"));
    readable.pipe(target);
    readable.unpipe(target);
    return out;
  },
  getDefaultHighWaterMark: () => [stream.getDefaultHighWaterMark(false), stream.getDefaultHighWaterMark(true)],
  "isReadable, isErrored, isDisturbed": () => [
    stream.isReadable(new Readable({ read() {} })),
    stream.isErrored(new Readable({ read() {} })),
    stream.isDisturbed(new Readable({ read() {} })),
  ],
  "the default export": () => [typeof stream, stream.Readable === Readable, stream.Stream === stream, stream.promises === promises],
  "not implemented": () => new Readable().read(),
  "destroy: close without an error": () =>
    new Promise((resolve) => new Readable({ read() {} }).on("close", () => resolve("close")).destroy()),
  autoDestroy: async () => {
    const readable = Readable.from(["a"]);
    await collect(readable);
    return readable.destroyed;
  },
};
for (const [name, run] of Object.entries(cases)) test(name, run);
