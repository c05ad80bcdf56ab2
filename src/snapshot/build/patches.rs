//! Places of Deno's Web APIs where the platform behaves otherwise, and what is put there instead.
//!
//! Only what cannot be done from outside is here; the rest is in `src/engine/js/web`. A place that does not exist any more fails the
//! build: after an update of Deno's crates the change has to be thought through again.

/// A place and its replacement.
type Change = (&'static str, &'static str);

/// The changes of a file, by its specifier.
pub fn changes(specifier: &str) -> &'static [Change] {
    match specifier {
        "ext:deno_web/06_streams.js" => STREAMS,
        "ext:deno_fetch/22_body.js" => BODY,
        _ => &[],
    }
}

const STREAMS: &[Change] = &[
    // A body that moves to another object keeps its source: it stays a byte stream, and one of the host stays one of the host.
    // Deno pipes it through a TransformStream. The old object is kept, because a registry closes the resource when it is collected.
    (
        "function createProxy(stream) {
  return stream.pipeThrough(new TransformStream());
}",
        "const _movedFrom = Symbol('[[movedFrom]]');
function createProxy(stream) {
  if (isReadableStreamLocked(stream)) {
    throw new TypeError('This ReadableStream is currently locked to a reader.');
  }
  const moved = new ReadableStream(_brand);
  initializeReadableStream(moved);
  moved[_controller] = stream[_controller];
  moved[_controller][_stream] = moved;
  moved[_state] = stream[_state];
  moved[_storedError] = stream[_storedError];
  moved[_disturbed] = stream[_disturbed];
  moved[_isClosedPromise] = stream[_isClosedPromise];
  moved[_resourceBacking] = stream[_resourceBacking];
  if (stream[_original]) moved[_original] = stream[_original];
  moved[_movedFrom] = stream;
  stream[_resourceBacking] = null;
  stream[_isClosedPromise] = new Deferred();
  stream[_state] = 'closed';
  stream[_disturbed] = true;
  acquireReadableStreamDefaultReader(stream);
  return moved;
}
// The bytes of a chunk of a body: workerd takes every view and every buffer.
function bytesOfChunk(chunk) {
  if (ArrayBufferIsView(chunk)) {
    return isTypedArray(chunk)
      ? new Uint8Array(TypedArrayPrototypeGetBuffer(chunk), TypedArrayPrototypeGetByteOffset(chunk), TypedArrayPrototypeGetByteLength(chunk))
      : new Uint8Array(DataViewPrototypeGetBuffer(chunk), DataViewPrototypeGetByteOffset(chunk), DataViewPrototypeGetByteLength(chunk));
  }
  if (isAnyArrayBuffer(chunk)) return new Uint8Array(chunk);
  throw new TypeError('This ReadableStream did not return bytes.');
}",
    ),
    (
        "  // Empty Uint8Array chunk. Re-read.",
        "  if (TypedArrayPrototypeGetSymbolToStringTag(chunk) !== 'Uint8Array') chunk = bytesOfChunk(chunk);
  // Empty Uint8Array chunk. Re-read.",
    ),
    (
        "        donePromise.reject(
          new TypeError(
            \"Cannot convert value to Uint8Array while consuming the stream\",
          ),
        );
        return;",
        "        try {
          chunk = bytesOfChunk(chunk);
        } catch (error) {
          donePromise.reject(error);
          return;
        }",
    ),
];

const BODY: &[Change] = &[
    // Every body is a byte stream.
    (
        "        const stream = createReadableStream(
          noop,
          (controller) => {
            controller.enqueue(chunkToU8(body));
            controller.close();
          },
          noopAsync,
          0,
        );",
        "        const stream = createReadableByteStream(
          noop,
          (controller) => {
            // A queue takes buffers over, and these bytes may be those of a clone, too.
            const bytes = typeof body === 'string' ? core.encode(body) : TypedArrayPrototypeSlice(body);
            if (TypedArrayPrototypeGetByteLength(bytes) > 0) controller.enqueue(bytes);
            controller.close();
            if (controller.byobRequest !== null) controller.byobRequest.respond(0);
          },
          noopAsync,
        );",
    ),
    ("  createReadableStream,\n", "  createReadableByteStream,\n"),
    // FixedLengthStream enters the length of its readable side.
    (
        "return { extractBody, InnerBody, mixinBody, packageData };",
        "return { extractBody, InnerBody, knownLengths: staticBodyLength, mixinBody, packageData };",
    ),
];
