// node:crypto with the exports that the platform has.

import base from "node:crypto";
import { core } from "ext:core/mod.js";
import { limited } from "ext:celld_node/crypto_limits.js";
import { named } from "ext:celld_node/crypto_names.js";
import { inert, unsupported } from "ext:celld_node/errors.js";

const { CryptoKey } = globalThis;
const { PrivateKeyObject, PublicKeyObject, SecretKeyObject } = core.loadExtScript("ext:deno_node/internal/crypto/keys.ts");

const all = {
  ...base,
  ...limited,
  ...named,
  Cipher: unsupported("Cipher"),
  createCipher: unsupported("createCipher"),
  createDecipher: unsupported("createDecipher"),
  CryptoKey,
  constants: { ...base.constants, defaultCipherList: "" },
  Decipher: unsupported("Decipher"),
  fips: true,
  getFips: () => true,
  PrivateKeyObject,
  pseudoRandomBytes: base.randomBytes,
  PublicKeyObject,
  SecretKeyObject,
  secureHeapUsed: () => ({ total: 0, used: 0, utilization: 0, min: 0 }),
  setEngine: unsupported("setEngine", 2),
  setFips: inert("setFips", 1),
};

export const {
  Certificate, Cipher, Cipheriv, Decipher, Decipheriv, DiffieHellman, DiffieHellmanGroup, ECDH, Hash, Hmac,
  KeyObject, Sign, Verify, X509Certificate, checkPrime, checkPrimeSync, constants, createCipher, createCipheriv,
  createDecipher, createDecipheriv, createDiffieHellman, createDiffieHellmanGroup, createECDH, createHash,
  createHmac, createPrivateKey, createPublicKey, createSecretKey, createSign, createVerify, diffieHellman, fips,
  generateKey, generateKeyPair, generateKeyPairSync, generateKeySync, generatePrime, generatePrimeSync,
  getCipherInfo, getCiphers, getCurves, getDiffieHellman, getFips, getHashes, getRandomValues, hash, hkdf, hkdfSync,
  pbkdf2, pbkdf2Sync, privateDecrypt, privateEncrypt, pseudoRandomBytes, publicDecrypt, publicEncrypt, randomBytes,
  randomFill, randomFillSync, randomInt, randomUUID, scrypt, scryptSync, secureHeapUsed, setEngine, setFips, sign,
  subtle, timingSafeEqual, verify, webcrypto,
} = all;
export { CryptoKey, PrivateKeyObject, PublicKeyObject, SecretKeyObject };
export default {
  Certificate, Cipher, Cipheriv, CryptoKey, Decipher, Decipheriv, DiffieHellman, DiffieHellmanGroup, ECDH, Hash,
  Hmac, KeyObject, PrivateKeyObject, PublicKeyObject, SecretKeyObject, Sign, Verify, X509Certificate, checkPrime,
  checkPrimeSync, constants, createCipher, createCipheriv, createDecipher, createDecipheriv, createDiffieHellman,
  createDiffieHellmanGroup, createECDH, createHash, createHmac, createPrivateKey, createPublicKey, createSecretKey,
  createSign, createVerify, diffieHellman, fips, generateKey, generateKeyPair, generateKeyPairSync, generateKeySync,
  generatePrime, generatePrimeSync, getCipherInfo, getCiphers, getCurves, getDiffieHellman, getFips, getHashes,
  getRandomValues, hash, hkdf, hkdfSync, pbkdf2, pbkdf2Sync, privateDecrypt, privateEncrypt, pseudoRandomBytes,
  publicDecrypt, publicEncrypt, randomBytes, randomFill, randomFillSync, randomInt, randomUUID, scrypt, scryptSync,
  secureHeapUsed, setEngine, setFips, sign, subtle, timingSafeEqual, verify, webcrypto,
};
