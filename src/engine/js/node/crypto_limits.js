// Bounds on what node:crypto computes in one piece: native code cannot be interrupted, and the thread is not the Worker's alone.

import base from "node:crypto";
import { ERR_OUT_OF_RANGE } from "ext:celld_node/internal.js";

/** Iterations of PBKDF2 times blocks of output; about a second. */
const MAX_PBKDF2 = 2_000_000;
const PBKDF2_BLOCK = 16;
/** N * r * p of scrypt; the platform's. */
const MAX_SCRYPT_COST = 1_048_576;
const MAX_RSA_BITS = 4096;
const MAX_PRIME_BITS = 2048;
/** A safe prime is found about a hundred times more slowly. */
const MAX_SAFE_PRIME_BITS = 512;
const MAX_CHECKED_BYTES = 1024;
const MAX_CHECKS = 64;

function atMost(name, value, limit) {
  if (Number(value) > limit) {
    throw new ERR_OUT_OF_RANGE(name, `<= ${limit}`, value);
  }
}

function checkPbkdf2(iterations, length) {
  if (Number(iterations) * Math.max(1, Math.ceil(Number(length) / PBKDF2_BLOCK) / 4) > MAX_PBKDF2) {
    throw new RangeError(`Pbkdf2 failed: iteration counts above ${MAX_PBKDF2} are not supported (requested ${iterations}).`);
  }
}

function checkScrypt(options) {
  const N = Number(options?.N ?? options?.cost ?? 16_384);
  const r = Number(options?.r ?? options?.blockSize ?? 8);
  const p = Number(options?.p ?? options?.parallelization ?? 1);
  if (N * r * p > MAX_SCRYPT_COST) {
    throw new RangeError(`Scrypt failed: cost exceeds maximum (${MAX_SCRYPT_COST}).`);
  }
}

function checkKeyPair(type, options) {
  atMost("options.modulusLength", options?.modulusLength ?? 0, MAX_RSA_BITS);
  atMost("options.primeLength", options?.primeLength ?? 0, MAX_SAFE_PRIME_BITS);
}

function checkPrimeSize(size, options) {
  atMost("size", size, options?.safe || options?.add ? MAX_SAFE_PRIME_BITS : MAX_PRIME_BITS);
}

function checkCandidate(candidate, options) {
  const length = typeof candidate === "bigint" ? candidate.toString(16).length / 2 : candidate?.byteLength ?? 0;
  atMost("candidate.byteLength", length, MAX_CHECKED_BYTES);
  atMost("options.checks", options?.checks ?? 0, MAX_CHECKS);
}

/** `name` of node:crypto behind `check`, which gets the same arguments. */
function bounded(name, check) {
  const original = base[name];
  const limited = {
    [name](...args) {
      check(...args);
      return Reflect.apply(original, this, args);
    },
  }[name];
  // The length, and the form for `util.promisify`, whose arguments are the same but for the callback.
  for (const key of Reflect.ownKeys(original)) {
    if (key !== "prototype") {
      const descriptor = Object.getOwnPropertyDescriptor(original, key);
      if (typeof descriptor.value === "function" && typeof key === "symbol") {
        const custom = descriptor.value;
        descriptor.value = function (...args) {
          check(...args);
          return Reflect.apply(custom, this, args);
        };
      }
      Object.defineProperty(limited, key, descriptor);
    }
  }
  return limited;
}

const options3 = (_password, _salt, _length, options) => checkScrypt(typeof options === "function" ? undefined : options);
const iterations3 = (_password, _salt, iterations, length) => checkPbkdf2(iterations, length);

/** The members of node:crypto that have bounds. */
export const limited = {
  checkPrime: bounded("checkPrime", checkCandidate),
  checkPrimeSync: bounded("checkPrimeSync", checkCandidate),
  createDiffieHellman: bounded("createDiffieHellman", (size) => {
    if (typeof size === "number") {
      atMost("sizeOrKey", size, MAX_SAFE_PRIME_BITS);
    }
  }),
  generateKeyPair: bounded("generateKeyPair", checkKeyPair),
  generateKeyPairSync: bounded("generateKeyPairSync", checkKeyPair),
  generatePrime: bounded("generatePrime", checkPrimeSize),
  generatePrimeSync: bounded("generatePrimeSync", checkPrimeSize),
  pbkdf2: bounded("pbkdf2", iterations3),
  pbkdf2Sync: bounded("pbkdf2Sync", iterations3),
  scrypt: bounded("scrypt", options3),
  scryptSync: bounded("scryptSync", options3),
};
