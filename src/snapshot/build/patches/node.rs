//! Changes of the Node.js polyfills.

use super::Change;

pub const NEXT_TICK: &[Change] = &[
    // What is to run in the next tick is dropped until `node:process` is loaded, which may be never.
    (
        "let nextTickEnabled = false;",
        "let nextTickEnabled = true; core.setAsyncHooksEmit(emitBefore, emitAfter, emitDestroy);",
    ),
];

pub const NODE_ERRORS: &[Change] = &[
    // The class of a value out of range is named after its code.
    (
        "super(\"ERR_OUT_OF_RANGE\", msg);",
        "super(\"ERR_OUT_OF_RANGE\", msg);
         delete this.toString;
         ObjectSetPrototypeOf(ERR_OUT_OF_RANGE.prototype, RangeErrorPrototype);
         ObjectSetPrototypeOf(this, ERR_OUT_OF_RANGE.prototype);",
    ),
];

// No time is none, as on the platform; Node.js makes it a millisecond. What follows is about times that are not.
pub const TIMERS: &[Change] = &[(
    "  if (!(after >= 1 && after <= TIMEOUT_MAX)) {",
    "  after = after > TIMEOUT_MAX ? TIMEOUT_MAX : after >= 1 ? after : isRepeat ? 1 : 0;
  if (after < 0) {",
)];

// Arguments of the process, of which there are none. The polyfill would load the global `process` for them, which may be what loads it.
pub const NODE_OPTIONS: &[Change] = &[("return globalThis.process?.execArgv ?? [];", "return [];")];

// `path.resolve` starts from the root, whatever a program has put on the global object.
pub const POSIX_PATH: &[Change] = &[("globalThis.process.cwd()", "\"/\"")];
pub const WIN32_PATH: &[Change] =
    &[("const { Deno } = globalThis;", "const Deno = { cwd: () => \"/\", env: { get() {} } };")];

// Decoders that tell of data which are broken or truncated (`platform/decoders.rs`).
pub const ZLIB: &[Change] = &[(
    "const {
  BrotliDecoder,
  BrotliEncoder,
  op_zlib_crc32,
  op_zlib_crc32_string,
  Zlib,
  ZstdCompress,
  ZstdDecompress,
} = core.ops;",
    "const {
  BrotliEncoder,
  op_celld_decoder_new,
  op_celld_decoder_reset,
  op_celld_decoder_run,
  op_zlib_crc32,
  op_zlib_crc32_string,
  Zlib,
  ZstdCompress,
} = core.ops;
class Decoder {
  #isBrotli;
  #native = null;
  #callback = null;
  constructor(mode) {
    this.#isBrotli = mode === BROTLI_DECODE;
  }
  init(params, callback) {
    this.#native = op_celld_decoder_new(this.#isBrotli, params);
    this.#callback = callback;
    return this.#native !== null;
  }
  params() {}
  reset() {
    op_celld_decoder_reset(this.#native);
  }
  close() {}
  writeSync(flush, input, inOff, inLen, out, outOff, outLen, state) {
    const failure = op_celld_decoder_run(this.#native, flush, input ?? new Uint8Array(), inOff, inLen, out, outOff, outLen, state);
    if (failure === null) return true;
    this.onerror(failure.message, failure.errno, failure.code);
    return false;
  }
  write(flush, input, inOff, inLen, out, outOff, outLen, state) {
    if (this.writeSync(flush, input, inOff, inLen, out, outOff, outLen, state)) this.#callback();
  }
}
const BrotliDecoder = Decoder;
const ZstdDecompress = Decoder;",
)];

// Every buffer has memory of its own, as on the platform: what takes the memory of one away, a byte stream or `structuredClone`, takes
// nothing from others.
pub const BUFFER: &[Change] = &[("Buffer.poolSize = 8 * 1024;", "Buffer.poolSize = 0;")];
