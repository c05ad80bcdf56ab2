// The digests and ciphers that the platform has, by its names.

import base from "node:crypto";

/** Names of digests in lower case, and what they are called below. */
const DIGESTS = new Map([
  ["md4", "md4"],
  ["md5", "md5"],
  ["sha1", "sha1"],
  ["sha224", "sha224"],
  ["sha256", "sha256"],
  ["sha384", "sha384"],
  ["sha512", "sha512"],
  ["sha512-256", "sha512-256"],
  ["md5-sha1", "md5-sha1"],
]);
/** Names that count only as they are written. */
const ALIASES = new Map([
  ["RSA-MD5", "md5"],
  ["RSA-SHA1", "sha1"],
  ["RSA-SHA224", "sha224"],
  ["RSA-SHA256", "sha256"],
  ["RSA-SHA384", "sha384"],
  ["RSA-SHA512", "sha512"],
  ["DSA-SHA", "sha1"],
  ["DSA-SHA1", "sha1"],
  ["ecdsa-with-SHA1", "sha1"],
  ["md5WithRSAEncryption", "md5"],
]);

function digestOf(name) {
  if (typeof name !== "string") {
    return name;
  }
  const known = ALIASES.get(name) ?? DIGESTS.get(name.toLowerCase());
  if (known === undefined) {
    throw new Error("Digest method not supported");
  }
  return known;
}

function createHash(algorithm, options) {
  return base.createHash(digestOf(algorithm), options);
}
function createHmac(algorithm, key, options) {
  return base.createHmac(digestOf(algorithm), key, options);
}
function hash(algorithm, data, encoding) {
  return base.hash(digestOf(algorithm), data, encoding);
}

function getHashes() {
  return [
    "md4", "md5", "sha1", "sha224", "sha256", "sha384", "sha512", "md5-sha1", "RSA-MD5", "RSA-SHA1", "RSA-SHA224",
    "RSA-SHA256", "RSA-SHA384", "RSA-SHA512", "DSA-SHA", "DSA-SHA1", "ecdsa-with-SHA1",
  ];
}

function getCipherInfo(nameOrNid, options) {
  // Short names are not the platform's.
  if (typeof nameOrNid === "string" && /^aes\d+$/i.test(nameOrNid)) {
    return undefined;
  }
  const info = base.getCipherInfo(nameOrNid, options);
  if (info === undefined) {
    return undefined;
  }
  if (info.name === "chacha20-poly1305") {
    return { ...info, nid: 950, mode: "stream" };
  }
  const gcm = /^aes-(\d+)-gcm$/.exec(info.name);
  return { ...info, name: gcm ? `id-aes${gcm[1]}-GCM` : info.name.toUpperCase() };
}

function cipherOf(name) {
  if (typeof name === "string" && (/^aes\d+$/i.test(name) || base.getCipherInfo(name) === undefined)) {
    throw new Error(`Unknown or unsupported cipher: ${name}`);
  }
}

function createCipheriv(cipher, key, iv, options) {
  cipherOf(cipher);
  return base.createCipheriv(cipher, key, iv, options);
}
function createDecipheriv(cipher, key, iv, options) {
  cipherOf(cipher);
  return base.createDecipheriv(cipher, key, iv, options);
}

/** The members of node:crypto that look at names. */
export const named = {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  getCipherInfo,
  getHashes,
  hash,
};
