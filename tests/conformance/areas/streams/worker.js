import { caught, error, suite, threw } from "./suite.js";

const { test, handler } = suite();
export default handler;

const bytes = (text) => new TextEncoder().encode(text);
const text = (data) => new TextDecoder().decode(data);
const collect = async (stream) => {
  const out = [];
  for await (const chunk of stream) out.push(chunk);
  return out;
};
const source = (...chunks) => new ReadableStream({
  start(controller) {
    for (const chunk of chunks) controller.enqueue(chunk);
    controller.close();
  },
});

// Readable
test("readable: start, pull and cancel in order", async () => {
  const out = [];
  const stream = new ReadableStream({
    start() { out.push("start"); },
    pull(controller) {
      out.push("pull");
      controller.enqueue(out.length);
    },
    cancel(reason) { out.push(`cancel ${reason}`); },
  }, { highWaterMark: 0 });
  const reader = stream.getReader();
  const read = await reader.read();
  await reader.cancel("enough");
  return [out, read];
}, [["start", "pull", "cancel enough"], { value: 2, done: false }]);
test("readable: pull until the mark", async () => {
  let pulled = 0;
  new ReadableStream({ pull(controller) { controller.enqueue(pulled++); } }, { highWaterMark: 3 });
  await scheduler.wait(5);
  return pulled;
}, 3);
test("readable: desiredSize", () => {
  const out = [];
  new ReadableStream({
    start(controller) {
      out.push(controller.desiredSize);
      controller.enqueue("a");
      out.push(controller.desiredSize);
      controller.enqueue("b");
      out.push(controller.desiredSize);
    },
  }, { highWaterMark: 1 });
  return out;
}, [1, 0, -1]);
test("readable: a size function", () => {
  let size;
  new ReadableStream({ start(controller) { controller.enqueue("abcd"); size = controller.desiredSize; } }, { highWaterMark: 10, size: (chunk) => chunk.length });
  return size;
}, 6);
test("readable: read after close", async () => {
  const reader = source("a").getReader();
  return [await reader.read(), await reader.read(), await reader.read()];
}, [{ value: "a", done: false }, { value: undefined, done: true }, { value: undefined, done: true }]);
test("readable: closed", async () => {
  const reader = source("a").getReader();
  const order = [];
  const closed = reader.closed.then(() => order.push("closed"));
  order.push((await reader.read()).value);
  await closed;
  return order;
}, ["closed", "a"]);
test("readable: error", async () => {
  const reader = new ReadableStream({ start(controller) { controller.error(new RangeError("boom")); } }).getReader();
  return [(await caught(() => reader.read())).message, (await caught(() => reader.closed)).name];
}, ["boom", "RangeError"]);
test("readable: start throws", () => String(new ReadableStream({ start() { throw new RangeError("boom"); } })), "[object ReadableStream]");
test("readable: pull rejects", () => new ReadableStream({ pull() { return Promise.reject(new RangeError("boom")); } }).getReader().read(), threw("RangeError", "boom"));
test("readable: enqueue after close", () => {
  let controller;
  new ReadableStream({ start(c) { controller = c; } });
  controller.close();
  controller.enqueue("a");
}, threw("TypeError", "Unable to enqueue"));
test("readable: close twice", () => {
  let controller;
  new ReadableStream({ start(c) { controller = c; } });
  controller.close();
  controller.close();
}, threw("TypeError", "This ReadableStream is closed."));
test("readable: locked", () => {
  const stream = source("a");
  const before = stream.locked;
  stream.getReader();
  return [before, stream.locked];
}, [false, true]);
test("readable: a second reader", () => {
  const stream = source("a");
  stream.getReader();
  stream.getReader();
}, threw("TypeError", "This ReadableStream is currently locked to a reader."));
test("readable: cancel while locked", () => {
  const stream = source("a");
  stream.getReader();
  return stream.cancel();
}, threw("TypeError", "This ReadableStream is currently locked to a reader."));
test("readable: releaseLock", async () => {
  const stream = source("a", "b");
  const first = stream.getReader();
  await first.read();
  first.releaseLock();
  return [(await stream.getReader().read()).value, (await caught(() => first.read()))];
}, ["b", error("TypeError", "This ReadableStream reader has been released.")]);
test("readable: releaseLock with a pending read", async () => {
  const stream = new ReadableStream();
  const reader = stream.getReader();
  const pending = reader.read();
  reader.releaseLock();
  return pending;
}, threw("TypeError", "This ReadableStream reader has been released."));
test("readable: cancel is idempotent", async () => {
  let count = 0;
  const stream = new ReadableStream({ cancel() { count++; } });
  await stream.cancel();
  await stream.cancel();
  return count;
}, 1);
test("readable: cancel rejects", () => new ReadableStream({ cancel() { throw new RangeError("boom"); } }).cancel(), threw("RangeError", "boom"));
test("readable: a wrong type", () => new ReadableStream({ type: "x" }), threw("TypeError", "\"x\" is not a valid type of ReadableStream."));
test("readable: a wrong mode", () => source("a").getReader({ mode: "x" }), threw("TypeError", "mode must be undefined or 'byob' in call to getReader()."));
test("readable: autoAllocateChunkSize 0", () => new ReadableStream({ type: "bytes", autoAllocateChunkSize: 0 }), threw("TypeError", "The autoAllocateChunkSize option cannot be zero."));
test("readable: a negative mark", () => new ReadableStream({}, { highWaterMark: -1 }), threw("TypeError", "The value cannot be converted because it is negative and this API expects a positive bigint."));
test("readable: pull is no function", () => new ReadableStream({ pull: 1 }), threw("TypeError", "Incorrect type for the 'pull' field on 'UnderlyingSource': the provided value is not of type 'function'."));
test("readable: of a number", () => new ReadableStream(1), threw("TypeError", "Failed to construct 'ReadableStream': constructor parameter 1 is not of type 'UnderlyingSource'."));
test("readable: async iteration", () => collect(source(1, 2, 3)), [1, 2, 3]);
test("readable: leaving the iteration cancels", async () => {
  let cancelled = false;
  const stream = new ReadableStream({ pull(controller) { controller.enqueue(1); }, cancel() { cancelled = true; } });
  for await (const chunk of stream) if (chunk) break;
  return [cancelled, stream.locked];
}, [true, false]);
test("readable: values with preventCancel", async () => {
  let cancelled = false;
  const stream = new ReadableStream({ pull(controller) { controller.enqueue(1); }, cancel() { cancelled = true; } });
  for await (const chunk of stream.values({ preventCancel: true })) if (chunk) break;
  return [cancelled, stream.locked];
}, [false, false]);
test("readable: from an array", () => collect(ReadableStream.from([1, 2])), [1, 2]);
test("readable: from an async generator", () => collect(ReadableStream.from((async function* () { yield "a"; yield "b"; })())), ["a", "b"]);
test("readable: from a string", () => collect(ReadableStream.from("ab")), ["a", "b"]);
test("readable: from a number", () => ReadableStream.from(1), threw("TypeError", "Failed to execute 'from' on 'ReadableStream': parameter 1 is not of type 'AsyncGenerator'."));
test("readable: constructor of the reader", async () => (await new ReadableStreamDefaultReader(source("a")).read()).value, "a");
test("readable: without new", () => ReadableStream(), threw("TypeError", "Failed to construct 'ReadableStream': Please use the 'new' operator, this object constructor cannot be called as a function."));
test("readable: tags", () => [source(), source().getReader()].map(String), ["[object ReadableStream]", "[object ReadableStreamDefaultReader]"]);

// Tee
test("tee: both get all", async () => {
  const [a, b] = source(1, 2).tee();
  return Promise.all([collect(a), collect(b)]);
}, [[1, 2], [1, 2]]);
test("tee: the same objects", async () => {
  const object = {};
  const [a, b] = source(object).tee();
  return (await collect(a))[0] === (await collect(b))[0];
}, true);
test("tee: cancel needs both", async () => {
  const out = [];
  const [a, b] = new ReadableStream({ cancel(reason) { out.push(reason); } }).tee();
  const first = a.cancel("a");
  out.push("first");
  await b.cancel("b");
  await first;
  return out;
}, ["first", "b"]);
test("tee: an error reaches both", async () => {
  const [a, b] = new ReadableStream({ pull(controller) { controller.error(new RangeError("boom")); } }).tee();
  return [(await caught(() => collect(a))).message, (await caught(() => collect(b))).message];
}, ["boom", "boom"]);
test("tee: locks", () => {
  const stream = source(1);
  stream.tee();
  return stream.locked;
}, true);

// Bytes and BYOB
const byteSource = (...chunks) => new ReadableStream({
  type: "bytes",
  pull(controller) {
    if (chunks.length) controller.enqueue(bytes(chunks.shift()));
    else controller.close();
  },
});
test("bytes: default reader", async () => text((await byteSource("abc").getReader().read()).value), "abc");
test("bytes: BYOB reader", async () => {
  const reader = byteSource("abcdef").getReader({ mode: "byob" });
  const first = await reader.read(new Uint8Array(4));
  const second = await reader.read(new Uint8Array(4));
  return [text(first.value), text(second.value)];
}, ["abcd", "ef"]);
test("bytes: BYOB at the end", async () => {
  const reader = new ReadableStream({ type: "bytes", start(controller) { controller.close(); } }).getReader({ mode: "byob" });
  const { value, done } = await reader.read(new Uint8Array(4));
  return [value?.constructor.name, value?.length, done];
}, ["Uint8Array", 0, true]);
test("bytes: the view is detached", async () => {
  const view = new Uint8Array(4);
  await byteSource("ab").getReader({ mode: "byob" }).read(view);
  return view.byteLength;
}, 0);
test("bytes: an offset is kept", async () => {
  const { value } = await byteSource("ab").getReader({ mode: "byob" }).read(new Uint8Array(new ArrayBuffer(8), 2, 4));
  return [value.byteOffset, value.length, value.buffer.byteLength];
}, [2, 2, 8]);
test("bytes: a Uint16Array", async () => {
  const { value } = await byteSource("abcd").getReader({ mode: "byob" }).read(new Uint16Array(2));
  return [value.constructor.name, value.length];
}, ["Uint16Array", 2]);
test("bytes: an empty view", () => byteSource("a").getReader({ mode: "byob" }).read(new Uint8Array(0)), threw("TypeError", "You must call read() on a \"byob\" reader with a positive-sized TypedArray object."));
test("bytes: no view", () => byteSource("a").getReader({ mode: "byob" }).read(), threw("TypeError", "Failed to execute 'read' on 'ReadableStreamBYOBReader': parameter 1 is not of type 'ArrayBufferView'."));
test("bytes: BYOB of a stream that is none", () => source("a").getReader({ mode: "byob" }), threw("TypeError", "This ReadableStream does not support BYOB reads."));
test("bytes: byobRequest", async () => {
  const out = [];
  const stream = new ReadableStream({
    type: "bytes",
    pull(controller) {
      const { view } = controller.byobRequest;
      out.push(view.constructor.name, view.byteLength);
      view[0] = 7;
      controller.byobRequest.respond(1);
    },
  });
  const { value } = await stream.getReader({ mode: "byob" }).read(new Uint8Array(3));
  return [out, [...value]];
}, [["Uint8Array", 3], [7]]);
test("bytes: respondWithNewView", async () => {
  const stream = new ReadableStream({
    type: "bytes",
    pull(controller) {
      const { view } = controller.byobRequest;
      const mine = new Uint8Array(view.buffer, view.byteOffset, 2);
      mine.set([1, 2]);
      controller.byobRequest.respondWithNewView(mine);
    },
  });
  return [...(await stream.getReader({ mode: "byob" }).read(new Uint8Array(3))).value];
}, [1, 2]);
test("bytes: respond too much", async () => {
  const stream = new ReadableStream({ type: "bytes", pull(controller) { controller.byobRequest.respond(9); } });
  return stream.getReader({ mode: "byob" }).read(new Uint8Array(3));
}, threw("RangeError", "Too many bytes [9] in response to a BYOB read request."));
test("bytes: autoAllocateChunkSize", async () => {
  let size;
  const stream = new ReadableStream({
    type: "bytes",
    autoAllocateChunkSize: 16,
    pull(controller) {
      size = controller.byobRequest.view.byteLength;
      controller.byobRequest.view[0] = 9;
      controller.byobRequest.respond(1);
    },
  });
  return [[...(await stream.getReader().read()).value], size];
}, [[9], 16]);
test("bytes: byobRequest without a BYOB reader", async () => {
  let request;
  const stream = new ReadableStream({ type: "bytes", pull(controller) { request = controller.byobRequest; controller.enqueue(bytes("a")); } });
  await stream.getReader().read();
  return String(request);
}, "[object ReadableStreamBYOBRequest]");
test("bytes: min", async () => {
  const reader = byteSource("a", "b", "c", "d").getReader({ mode: "byob" });
  return text((await reader.read(new Uint8Array(4), { min: 3 })).value);
}, "abc");
test("bytes: readAtLeast", async () => {
  const reader = byteSource("a", "b", "c", "d").getReader({ mode: "byob" });
  return text((await reader.readAtLeast(3, new Uint8Array(8))).value);
}, "abc");
test("bytes: readAtLeast too much", () => byteSource("a").getReader({ mode: "byob" }).readAtLeast(9, new Uint8Array(8)), threw("TypeError", "Minimum bytes to read (9) exceeds size of buffer (8)."));
test("bytes: readAtLeast at the end", async () => {
  const { value, done } = await byteSource("a").getReader({ mode: "byob" }).readAtLeast(3, new Uint8Array(8));
  return [value && text(value), done];
}, ["a", false]);
test("bytes: enqueue of a string", () => caught(() => new ReadableStream({ type: "bytes", start(controller) { controller.enqueue("a"); } }).getReader().read()), error("TypeError", "Failed to execute 'enqueue' on 'ReadableByteStreamController': parameter 1 is not of type 'BufferSource'."));
test("bytes: enqueue of nothing", () => caught(() => new ReadableStream({ type: "bytes", start(controller) { controller.enqueue(new Uint8Array(0)); } }).getReader().read()), error("TypeError", "Cannot enqueue a zero-length ArrayBuffer."));
test("bytes: tee", async () => {
  const [a, b] = byteSource("ab", "cd").tee();
  const reader = a.getReader({ mode: "byob" });
  return [text((await reader.read(new Uint8Array(8))).value), text((await b.getReader().read()).value)];
}, ["ab", "ab"]);

// Writable
test("writable: start, write, close in order", async () => {
  const out = [];
  const writer = new WritableStream({
    start() { out.push("start"); },
    write(chunk) { out.push(chunk); },
    close() { out.push("close"); },
  }).getWriter();
  writer.write("a");
  writer.write("b");
  await writer.close();
  return out;
}, ["start", "a", "b", "close"]);
test("writable: writes wait for each other", async () => {
  const out = [];
  const writer = new WritableStream({
    async write(chunk) {
      out.push(`begin ${chunk}`);
      await scheduler.wait(1);
      out.push(`end ${chunk}`);
    },
  }).getWriter();
  writer.write(1);
  await writer.write(2);
  return out;
}, ["begin 1", "end 1", "begin 2", "end 2"]);
test("writable: ready and desiredSize", async () => {
  let release;
  const writer = new WritableStream({ write() { return new Promise((resolve) => (release = resolve)); } }, { highWaterMark: 2 }).getWriter();
  const out = [writer.desiredSize];
  writer.write(1);
  out.push(writer.desiredSize);
  writer.write(2);
  out.push(writer.desiredSize);
  let ready = false;
  writer.ready.then(() => (ready = true));
  await scheduler.wait(1);
  out.push(ready);
  release();
  await scheduler.wait(1);
  out.push(ready, writer.desiredSize);
  return out;
}, [2, 1, 0, false, true, 1]);
test("writable: an error in write", async () => {
  const writer = new WritableStream({ write() { throw new RangeError("boom"); } }).getWriter();
  return [(await caught(() => writer.write(1))).message, (await caught(() => writer.write(2))).message, (await caught(() => writer.closed)).message, writer.desiredSize];
}, ["boom", "boom", "boom", null]);
test("writable: abort", async () => {
  const out = [];
  const writer = new WritableStream({ abort(reason) { out.push(`abort ${reason}`); }, close() { out.push("close"); } }).getWriter();
  await writer.abort("why");
  out.push(await caught(() => writer.write(1)));
  return out;
}, ["abort why", "why"]);
test("writable: controller.signal", async () => {
  let signal;
  const writer = new WritableStream({ start(controller) { signal = controller.signal; } }).getWriter();
  await writer.abort("why");
  return [signal.aborted, signal.reason];
}, [true, "why"]);
test("writable: controller.error", async () => {
  const writer = new WritableStream({ start(controller) { controller.error(new RangeError("boom")); } }).getWriter();
  return caught(() => writer.write(1));
}, error("RangeError", "boom"));
test("writable: write after close", async () => {
  const writer = new WritableStream().getWriter();
  await writer.close();
  return writer.write(1);
}, threw("TypeError", "This WritableStream has been closed."));
test("writable: close twice", async () => {
  const writer = new WritableStream().getWriter();
  await writer.close();
  return writer.close();
}, threw("TypeError", "This WritableStream has been closed."));
test("writable: a second writer", () => {
  const stream = new WritableStream();
  stream.getWriter();
  stream.getWriter();
}, threw("TypeError", "This WritableStream is currently locked to a writer."));
test("writable: a released writer", async () => {
  const stream = new WritableStream();
  const writer = stream.getWriter();
  writer.releaseLock();
  return [stream.locked, await caught(() => writer.write(1))];
}, [false, error("TypeError", "This WritableStream writer has been released.")]);
test("writable: close of the stream", async () => {
  let closed = false;
  await new WritableStream({ close() { closed = true; } }).close();
  return closed;
}, true);
test("writable: a type", () => String(new WritableStream({ type: "bytes" })), "[object WritableStream]");
test("writable: tags", () => [new WritableStream(), new WritableStream().getWriter()].map(String), ["[object WritableStream]", "[object WritableStreamDefaultWriter]"]);

// Pipe
test("pipeTo", async () => {
  const out = [];
  await source(1, 2).pipeTo(new WritableStream({ write(chunk) { out.push(chunk); }, close() { out.push("close"); } }));
  return out;
}, [1, 2, "close"]);
test("pipeTo: preventClose", async () => {
  const out = [];
  const sink = new WritableStream({ write(chunk) { out.push(chunk); }, close() { out.push("close"); } });
  await source(1).pipeTo(sink, { preventClose: true });
  return [out, sink.locked];
}, [[1], false]);
test("pipeTo: an error of the source aborts", async () => {
  const out = [];
  const error = await caught(() => new ReadableStream({ pull(controller) { controller.error(new RangeError("boom")); } }).pipeTo(new WritableStream({ abort(reason) { out.push(reason.message); } })));
  return [out, error.message];
}, [["boom"], "boom"]);
test("pipeTo: an error of the sink cancels", async () => {
  const out = [];
  const error = await caught(() => new ReadableStream({ pull(controller) { controller.enqueue(1); }, cancel(reason) { out.push(reason.message); } }).pipeTo(new WritableStream({ write() { throw new RangeError("boom"); } })));
  return [out, error.message];
}, [["boom"], "boom"]);
test("pipeTo: an aborted signal", async () => {
  const out = [];
  const piping = new ReadableStream({ cancel(reason) { out.push(`cancel ${reason}`); } }).pipeTo(new WritableStream({ abort(reason) { out.push(`abort ${reason}`); } }), { signal: AbortSignal.abort("why") });
  let reason;
  await piping.catch((error) => (reason = error));
  return [out.sort(), reason];
}, [["abort why", "cancel why"], "why"]);
test("pipeTo: a signal", async () => {
  const controller = new AbortController();
  const out = [];
  const piping = new ReadableStream({
    async pull(each) {
      await scheduler.wait(1);
      each.enqueue(1);
    },
  }).pipeTo(new WritableStream({ write() { controller.abort("why"); }, abort(reason) { out.push(`abort ${reason}`); } }), { signal: controller.signal });
  await piping.catch((reason) => out.push(reason));
  return out;
}, ["abort why", "why"]);
test("pipeTo: a locked source", () => {
  const stream = source(1);
  stream.getReader();
  return stream.pipeTo(new WritableStream());
}, threw("TypeError", "This ReadableStream is currently locked to a reader."));
test("pipeTo: no stream", () => source(1).pipeTo({}), threw("TypeError", "Failed to execute 'pipeTo' on 'ReadableStream': parameter 1 is not of type 'WritableStream'."));
test("pipeThrough", () => collect(source("a", "b").pipeThrough(new TransformStream({ transform(chunk, controller) { controller.enqueue(chunk + chunk); } }))), ["aa", "bb"]);
test("pipeThrough: a pair of objects", () => {
  const transform = new TransformStream();
  return collect(source("a").pipeThrough({ readable: transform.readable, writable: transform.writable }));
}, ["a"]);
test("pipeThrough: no pair", () => source(1).pipeThrough({}), threw("TypeError", "Incorrect type for the 'readable' field on 'Transform': the provided value is not of type 'ReadableStream'."));

// Transform
test("transform: start, transform, flush", async () => {
  const out = [];
  const stream = new TransformStream({
    start(controller) { controller.enqueue("start"); },
    transform(chunk, controller) { controller.enqueue(chunk); },
    flush(controller) { controller.enqueue("flush"); },
  });
  const writer = stream.writable.getWriter();
  const writing = writer.write("a").then(() => writer.close());
  for await (const chunk of stream.readable) out.push(chunk);
  await writing;
  return out;
}, ["start", "a", "flush"]);
test("transform: identity", () => collect(source(1, 2).pipeThrough(new TransformStream())), [1, 2]);
test("transform: back-pressure", async () => {
  const { readable, writable } = new TransformStream();
  const writer = writable.getWriter();
  let written = false;
  const writing = writer.write(1).then(() => (written = true));
  await scheduler.wait(2);
  const before = written;
  const { value } = await readable.getReader().read();
  await writing;
  return [before, value, written];
}, [false, 1, true]);
test("transform: terminate", async () => {
  const { readable, writable } = new TransformStream({ transform(chunk, controller) { controller.enqueue(chunk); controller.terminate(); } });
  const writer = writable.getWriter();
  writer.write(1).catch(() => {});
  const out = await collect(readable);
  return [out, await caught(() => writer.write(2))];
}, [[1], error("TypeError", "The transform stream has been terminated")]);
test("transform: error", async () => {
  const { readable, writable } = new TransformStream({ transform() { throw new RangeError("boom"); } });
  const writer = writable.getWriter();
  const writing = caught(() => writer.write(1));
  return [(await caught(() => readable.getReader().read())).message, (await writing).message];
}, ["boom", "boom"]);
test("transform: cancel", async () => {
  const out = [];
  const { readable } = new TransformStream({ cancel(reason) { out.push(reason); } });
  await readable.cancel("why");
  return out;
}, ["why"]);
test("transform: readableType", () => new TransformStream({ readableType: "bytes" }), threw("TypeError", "transformer.readableType must be undefined."));

// workerd's own
test("IdentityTransformStream", async () => {
  const { readable, writable } = new IdentityTransformStream();
  const writer = writable.getWriter();
  const writing = writer.write(bytes("abc")).then(() => writer.close());
  const out = await new Response(readable).text();
  await writing;
  return out;
}, "abc");
test("IdentityTransformStream: a string", async () => {
  const { readable, writable } = new IdentityTransformStream();
  const reading = new Response(readable).text().catch(() => "failed");
  const writer = writable.getWriter();
  const error = await caught(() => writer.write("abc"));
  await caught(() => writer.close());
  return [error?.message, await reading];
}, [undefined, "abc"]);
test("IdentityTransformStream: a number", async () => {
  const { readable, writable } = new IdentityTransformStream();
  new Response(readable).text().catch(() => {});
  return caught(() => writable.getWriter().write(5));
}, error("TypeError", "This TransformStream is being used as a byte stream, but received an object of non-ArrayBuffer/ArrayBufferView type on its writable side."));
test("IdentityTransformStream: BYOB", async () => {
  const { readable, writable } = new IdentityTransformStream();
  const writer = writable.getWriter();
  writer.write(bytes("abcdef"));
  const reader = readable.getReader({ mode: "byob" });
  return text((await reader.read(new Uint8Array(4))).value);
}, "abcd");
test("IdentityTransformStream: write waits for read", async () => {
  const { readable, writable } = new IdentityTransformStream();
  let written = false;
  const writer = writable.getWriter();
  const writing = writer.write(bytes("a")).then(() => (written = true));
  await scheduler.wait(2);
  const before = written;
  await readable.getReader().read();
  await writing;
  return [before, written];
}, [false, true]);
test("IdentityTransformStream: highWaterMark", () => new IdentityTransformStream({ highWaterMark: 10 }).writable.getWriter().desiredSize, 10);
test("IdentityTransformStream: abort", async () => {
  const { readable, writable } = new IdentityTransformStream();
  const reading = caught(() => readable.getReader().read());
  await writable.abort(new RangeError("boom"));
  return reading;
}, error("RangeError", "boom"));
test("FixedLengthStream", async () => {
  const { readable, writable } = new FixedLengthStream(3);
  const writer = writable.getWriter();
  const writing = writer.write(bytes("abc")).then(() => writer.close());
  const out = await new Response(readable).text();
  await writing;
  return out;
}, "abc");
test("FixedLengthStream: too much", async () => {
  const { readable, writable } = new FixedLengthStream(2);
  new Response(readable).text().catch(() => {});
  return caught(() => writable.getWriter().write(bytes("abc")));
}, undefined);
test("FixedLengthStream: too little", async () => {
  const { readable, writable } = new FixedLengthStream(5);
  const reading = caught(() => new Response(readable).text());
  const writer = writable.getWriter();
  await writer.write(bytes("abc"));
  return [await caught(() => writer.close()), await reading];
}, [undefined, error("TypeError", "FixedLengthStream did not see all expected bytes before close().")]);
test("FixedLengthStream: BigInt", async () => {
  const { readable, writable } = new FixedLengthStream(1n);
  const writer = writable.getWriter();
  const writing = writer.write(bytes("a")).then(() => writer.close());
  const out = await new Response(readable).text();
  await writing;
  return out;
}, "a");
test("FixedLengthStream: a negative length", () => new FixedLengthStream(-1), threw("TypeError", "The value cannot be converted because it is negative and this API expects a positive bigint."));
test("FixedLengthStream: without a length", () => new FixedLengthStream(), threw("TypeError", "Failed to construct 'FixedLengthStream': constructor parameter 1 is not of type 'bigint'."));
test("FixedLengthStream: is an IdentityTransformStream", () => new FixedLengthStream(1) instanceof IdentityTransformStream, true);
test("ByteLengthQueuingStrategy", () => {
  const strategy = new ByteLengthQueuingStrategy({ highWaterMark: 5 });
  return [strategy.highWaterMark, strategy.size(new Uint8Array(3))];
}, [5, 3]);
test("CountQueuingStrategy", () => {
  const strategy = new CountQueuingStrategy({ highWaterMark: 5 });
  return [strategy.highWaterMark, strategy.size("abc")];
}, [5, 1]);
test("CountQueuingStrategy: without a mark", () => new CountQueuingStrategy({}).highWaterMark, NaN);
test("a body piped through a transform", () => new Response(new Response("abc").body.pipeThrough(new TransformStream({ transform(chunk, controller) { controller.enqueue(bytes(text(chunk).toUpperCase())); } }))).text(), "ABC");
test("a body of 1 MB through IdentityTransformStream", async () => {
  const { readable, writable } = new IdentityTransformStream();
  const piping = new Response(new Uint8Array(1 << 20)).body.pipeTo(writable);
  const { byteLength } = await new Response(readable).arrayBuffer();
  await piping;
  return byteLength;
}, 1 << 20);
