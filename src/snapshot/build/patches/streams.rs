//! Streams.

use super::Change;

pub const STREAMS: &[Change] = &[
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
// The bytes of a chunk of a body: workerd takes every view and every buffer, and finds nothing in one that was taken away.
function bytesOfChunk(chunk) {
  if (ArrayBufferIsView(chunk)) {
    const isTyped = isTypedArray(chunk);
    const buffer = isTyped ? TypedArrayPrototypeGetBuffer(chunk) : DataViewPrototypeGetBuffer(chunk);
    if (isDetachedBuffer(buffer)) return new Uint8Array();
    return isTyped
      ? new Uint8Array(buffer, TypedArrayPrototypeGetByteOffset(chunk), TypedArrayPrototypeGetByteLength(chunk))
      : new Uint8Array(buffer, DataViewPrototypeGetByteOffset(chunk), DataViewPrototypeGetByteLength(chunk));
  }
  if (isAnyArrayBuffer(chunk)) return isDetachedBuffer(chunk) ? new Uint8Array() : new Uint8Array(chunk);
  throw new TypeError('This ReadableStream did not return bytes.');
}",
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
    // A byte source that closes without an answer to a pending request has answered it.
    (
        "  readableByteStreamControllerClearAlgorithms(controller);
  readableStreamClose(stream);
}",
        "  readableByteStreamControllerClearAlgorithms(controller);
  readableStreamClose(stream);
  if (controller[_pendingPullIntos].size !== 0) {
    queueMicrotask(() => {
      if (controller[_pendingPullIntos].size !== 0) readableByteStreamControllerRespond(controller, 0);
    });
  }
}",
    ),
    // For `js/events/made.js`. The host takes a chunk before code is asked for the next one, which may be made in the same buffer.
    (
        "      const chunk = dequeueValue(this);
      if (this[_closeRequested] && this[_queue].size === 0) {
        readableStreamDefaultControllerClearAlgorithms(this);
        readableStreamClose(stream);
      } else {
        readableStreamDefaultControllerCallPullIfNeeded(this);
      }
      readRequest.chunkSteps(chunk);",
        "      const chunk = dequeueValue(this);
      const isFirst = readRequest[_takesFirst] === true;
      if (isFirst) readRequest.chunkSteps(chunk);
      if (this[_closeRequested] && this[_queue].size === 0) {
        readableStreamDefaultControllerClearAlgorithms(this);
        readableStreamClose(stream);
      } else {
        readableStreamDefaultControllerCallPullIfNeeded(this);
      }
      if (!isFirst) readRequest.chunkSteps(chunk);",
    ),
    ("const _readAll = Symbol(\"[[readAll]]\");", "const _readAll = Symbol(\"[[readAll]]\");
const _takesFirst = Symbol(\"[[takesFirst]]\");"),
    (
        "function resourceForReadableStream(stream, length, onError) {
  const reader",
        "let resourceForStream = null;
function setResourceForStream(make) {
  resourceForStream = make;
}
function resourceForReadableStream(stream, length, onError) {
  return resourceForStream(stream, length);
  const reader",
    ),
    (
        "  resourceForReadableStream,
  setUpReadableByteStreamController,",
        "  resourceForReadableStream,
  bytesOfChunk,
  setResourceForStream,
  acquireReadableStreamDefaultReader,
  readableStreamDefaultReaderRead,
  takesFirst: _takesFirst,
  isByteStream: (stream) => isReadableByteStreamController(stream[_controller]),
  setUpReadableByteStreamController,",
    ),
    // `start` that throws makes a stream that has failed.
    (
        "  const startResult = startAlgorithm(controller);
  const startPromise = PromiseResolve(startResult);",
        "  let startPromise;
  try {
    startPromise = PromiseResolve(startAlgorithm(controller));
  } catch (error) {
    startPromise = PromiseReject(error);
  }",
    ),
    // A string is a sequence of its characters.
    (
        "    asyncIterable = webidl.converters[\"async_sequence<any>\"](",
        "    if (typeof asyncIterable === 'string') asyncIterable = primordials.ArrayFrom(asyncIterable);
    asyncIterable = webidl.converters[\"async_sequence<any>\"](",
    ),
    // A type of sink is ignored.
    (
        "    if (underlyingSinkDict.type != null) {
      throw new RangeError(
        `${prefix}: WritableStream does not support 'type' in the underlying sink`,
      );
    }",
        "",
    ),
    // Texts.
    (
        "    if (readableStreamDefaultControllerCanCloseOrEnqueue(this) === false) {
      throw new TypeError(\"The stream controller cannot close or enqueue\");
    }
    readableStreamDefaultControllerClose(this);",
        "    if (readableStreamDefaultControllerCanCloseOrEnqueue(this) === false) {
      throw new TypeError('This ReadableStream is closed.');
    }
    readableStreamDefaultControllerClose(this);",
    ),
    ("The stream controller cannot close or enqueue", "Unable to enqueue"),
    ("TypeError(\"ReadableStream is locked\")", "TypeError(\"This ReadableStream is currently locked to a reader.\")"),
    ("Cannot cancel a locked ReadableStream.", "This ReadableStream is currently locked to a reader."),
    ("TypeError(\"ReadableStream is already locked\")", "TypeError(\"This ReadableStream is currently locked to a reader.\")"),
    ("ReadableStream is already locked.", "This ReadableStream is currently locked to a reader."),
    ("Reader has no associated stream.", "This ReadableStream reader has been released."),
    ("The reader was released.", "This ReadableStream reader has been released."),
    ("'\"autoAllocateChunkSize\" must be greater than 0'", "'The autoAllocateChunkSize option cannot be zero.'"),
    (
        "    throw new RangeError(
      `Expected highWaterMark to be a positive number or Infinity, got \"${highWaterMark}\".`,
    );",
        "    if (NumberIsNaN(highWaterMark)) throw new RangeError('The highWaterMark is not a number.');
    throw new TypeError('The value cannot be converted because it is negative and this API expects a positive bigint.');",
    ),
    ("Cannot use a BYOB reader with a non-byte stream", "This ReadableStream does not support BYOB reads."),
    (
        "\"view must have non-zero byteLength\"",
        "'You must call read() on a \"byob\" reader with a positive-sized TypedArray object.'",
    ),
    ("'\"bytesWritten\" out of range'", "`Too many bytes [${bytesWritten}] in response to a BYOB read request.`"),
    (
        "      throw webidl.makeException(
        TypeError,
        \"Length must be non-zero\",
        prefix,
        arg1,",
        "      throw new TypeError('Cannot enqueue a zero-length ArrayBuffer.');
      throw webidl.makeException(
        TypeError,
        \"Length must be non-zero\",
        prefix,
        arg1,",
    ),
    ("The stream is closing or is closed.", "This WritableStream has been closed."),
    ("Writable stream is closed or errored.", "This WritableStream has been closed."),
    ("The stream is already locked", "This WritableStream is currently locked to a writer."),
    ("A writable stream is not associated with the writer.", "This WritableStream writer has been released."),
    ("A writable stream is not associated with the writer", "This WritableStream writer has been released."),
    ("A writable stream is not associate with the writer.", "This WritableStream writer has been released."),
    ("\"The stream has been terminated.\"", "'The transform stream has been terminated'"),
    (
        "      const err = new RangeError(
        `${prefix}: readableType transformers not supported`,
      );
      err.code = \"ERR_INVALID_ARG_VALUE\";",
        "      const err = new TypeError('transformer.readableType must be undefined.');",
    ),
    (
        "      const err = new RangeError(
        `${prefix}: writableType transformers not supported`,
      );
      err.code = \"ERR_INVALID_ARG_VALUE\";",
        "      const err = new TypeError('transformer.writableType must be undefined.');",
    ),
    (
        "webidl.converters.ReadableStreamType = webidl.createEnumConverter(
  \"ReadableStreamType\",
  [\"bytes\"],
);",
        "webidl.converters.ReadableStreamType = (type) => {
  type = String(type);
  if (type !== 'bytes') throw new TypeError(`\"${type}\" is not a valid type of ReadableStream.`);
  return type;
};",
    ),
    (
        "webidl.converters.ReadableStreamReaderMode = webidl
  .createEnumConverter(\"ReadableStreamReaderMode\", [\"byob\"]);",
        "webidl.converters.ReadableStreamReaderMode = (mode) => {
  if (String(mode) !== 'byob') throw new TypeError(\"mode must be undefined or 'byob' in call to getReader().\");
  return 'byob';
};",
    ),
    (
        "      key: \"highWaterMark\",
      converter: webidl.converters[\"unrestricted double\"],
      required: true,",
        "      key: \"highWaterMark\",
      converter: webidl.converters[\"unrestricted double\"],
      defaultValue: NaN,",
    ),
];

pub const COMPRESSION: &[Change] = &[
    (
        "webidl.converters.CompressionFormat = webidl.createEnumConverter(
  \"CompressionFormat\",
  [
    \"deflate\",
    \"deflate-raw\",
    \"gzip\",
    \"brotli\",
  ],
);",
        "webidl.converters.CompressionFormat = (format) => {
  format = String(format);
  if (format !== 'deflate' && format !== 'deflate-raw' && format !== 'gzip') {
    throw new TypeError(\"The compression format must be either 'deflate', 'deflate-raw' or 'gzip'.\");
  }
  return format;
};
// What the decoder of a library says, as the platform says it.
function decoded(work) {
  try {
    return work();
  } catch (error) {
    if (error.message === 'failed to write whole buffer') throw new TypeError('Trailing bytes after end of compressed data');
    throw new TypeError('Decompression failed.');
  }
}",
    ),
    (
        "        const output = op_compression_write(
          rid,
          chunk,
        );",
        "        const output = decoded(() => op_compression_write(rid, chunk));
        if (isHead && output.length > 9) {
          isHead = false;
          output[9] = 3;
        }",
    ),
    (
        "    const rid = op_compression_new(format, false);",
        "    const rid = op_compression_new(format, false);
    // The head of gzip names the system, and the platform's is Unix.
    let isHead = format === 'gzip';",
    ),
    (
        "    const rid = op_compression_new(format, true);",
        "    const rid = op_compression_new(format, true);
    let isHead = false;",
    ),
    (
        "        const output = op_compression_finish(rid, true);",
        "        let output;
        try {
          output = op_compression_finish(rid, true);
        } catch {
          throw new TypeError('Called close() on a decompression stream with incomplete data');
        }",
    ),
    (
        "  if (chunk === null) {",
        "  if (typeof chunk === 'string') return core.encode(chunk);
  if (chunk === null) {",
    ),
];

pub const ENCODING: &[Change] = &[
    (
        "          err.code = \"ERR_ENCODING_NOT_SUPPORTED\";",
        "          err.message = `\"${label}\" is not a valid encoding.`;",
    ),
    (
        "    } finally {
      if (!stream && this.#handle !== null) {",
        "    } catch (error) {
      if (error.message === 'The encoded data is not valid') throw new TypeError('Failed to decode input.');
      throw error;
    } finally {
      if (!stream && this.#handle !== null) {",
    ),
];

pub const BASE64: &[Change] = &[
    (
        "    return op_base64_atob(data);
  } catch (e) {",
        "    return op_base64_atob(data);
  } catch (e) {
    throw new DOMException(
      'atob() called with invalid base64-encoded data. (Only whitespace, \\'+\\', \\'/\\', alphanumeric ASCII, and up to two terminal ' +
        '\\'=\\' signs when the input data length is divisible by 4 are allowed.)',
      'InvalidCharacterError',
    );",
    ),
    (
        "    return op_base64_btoa(data);
  } catch (e) {",
        "    return op_base64_btoa(data);
  } catch (e) {
    throw new DOMException(
      'btoa() can only operate on characters in the Latin1 (ISO/IEC 8859-1) range.',
      'InvalidCharacterError',
    );",
    ),
];

pub const ABORT: &[Change] = &[
    ("The signal has been aborted", "The operation was aborted"),
    // Any time is accepted; `js/platform/timers.js` makes milliseconds of it.
    (
        "    millis = webidl.converters[\"unsigned long long\"](
      millis,
      prefix,
      \"Argument 1\",
      {
        enforceRange: true,
      },
    );
",
        "",
    ),
];

// As in ABORT.
pub const TIMERS: &[Change] = &[("  timeout = webidl.converters.long(timeout);\n", "")];
