// `crypto.DigestStream`: the digest of everything that is written to it.

import { core } from "ext:core/mod.js";
import { op_digest_finish, op_digest_new, op_digest_update } from "ext:core/ops";
import { chunkBytes } from "ext:celld_web/identity.js";

const { WritableStream } = core.loadExtScript("ext:deno_web/06_streams.js");
const { DOMException } = core.loadExtScript("ext:deno_web/01_dom_exception.js");
const { Crypto, SubtleCrypto } = core.loadExtScript("ext:deno_crypto/00_crypto.js");

const NOT_BYTES =
  "DigestStream is a byte stream but received an object of non-ArrayBuffer/ArrayBufferView/string type on its writable side.";

/** The name in an `AlgorithmIdentifier`. */
function algorithmName(algorithm) {
  if (algorithm === undefined || algorithm === null) {
    throw new TypeError("Failed to construct 'DigestStream': constructor parameter 1 is not of type 'string or HashAlgorithm'.");
  }
  return typeof algorithm === "object" ? String(algorithm.name) : String(algorithm);
}

class DigestStream extends WritableStream {
  #digest = Promise.withResolvers();
  #bytesWritten = 0n;

  constructor(algorithm = undefined) {
    const hasher = op_digest_new(algorithmName(algorithm).toUpperCase());
    if (hasher === null) {
      throw new DOMException("Unrecognized or unimplemented digest algorithm requested.", "NotSupportedError");
    }
    super({
      write: (chunk) => {
        let bytes;
        try {
          bytes = chunkBytes(chunk, NOT_BYTES);
        } catch (error) {
          this.#digest.reject(error);
          throw error;
        }
        op_digest_update(hasher, bytes);
        this.#bytesWritten += BigInt(bytes.byteLength);
      },
      close: () => this.#digest.resolve(op_digest_finish(hasher).buffer),
      abort: (reason) => this.#digest.reject(reason),
    });
    // Whoever does not look at the digest does not want to hear of its failure.
    this.#digest.promise.catch(() => {});
  }

  get digest() {
    return this.#digest.promise;
  }

  get bytesWritten() {
    return this.#bytesWritten;
  }

  get [Symbol.toStringTag]() {
    return "DigestStream";
  }

  /** Ends the stream without a digest. */
  [Symbol.dispose]() {
    if (!this.locked) this.abort(new TypeError("The DigestStream was disposed.")).catch(() => {});
  }
}

const { digest } = SubtleCrypto.prototype;

/** `subtle.digest` with the platform's MD5. */
const methods = {
  async digest(algorithm, data) {
    const name = typeof algorithm === "string" ? algorithm : algorithm?.name;
    if (typeof name !== "string" || name.toUpperCase() !== "MD5") return Reflect.apply(digest, this, arguments);
    const hasher = op_digest_new("MD5");
    op_digest_update(hasher, chunkBytes(data, "Failed to execute 'digest' on 'SubtleCrypto': parameter 2 is not of type 'BufferSource'."));
    return op_digest_finish(hasher).buffer;
  },
};
Object.defineProperty(SubtleCrypto.prototype, "digest", {
  __proto__: null,
  value: methods.digest,
  writable: true,
  enumerable: true,
  configurable: true,
});

Object.defineProperty(DigestStream, "length", { value: 0 });
for (const name of ["digest", "bytesWritten"]) {
  Object.defineProperty(DigestStream.prototype, name, { enumerable: true });
}
Object.defineProperty(Crypto.prototype, "DigestStream", {
  __proto__: null,
  value: DigestStream,
  writable: true,
  enumerable: true,
  configurable: true,
});
