import crypto from "node:crypto";

import { suite } from "./suite.js";
import recorded from "./recorded.js";

const { test, handler } = suite(recorded);
export default handler;

const key = (length) => Buffer.from(Array.from({ length }, (_, i) => i));
for (const name of [
  "md5",
  "sha1",
  "sha224",
  "sha256",
  "sha384",
  "sha512",
  "sha512-256",
  "ripemd160",
  "RSA-SHA256",
  "sha3-256",
  "blake2b512",
  "shake128",
  "SHA256",
  "nope",
]) {
  test(`createHash ${name}`, () => crypto.createHash(name).update("ab").update(Buffer.from("c")).digest("hex"));
  test(`createHmac ${name}`, () => crypto.createHmac(name, "key").update("abc").digest("hex"));
  test(`hash ${name}`, () => crypto.hash(name, "abc"));
}
for (const name of [
  "aes-128-cbc",
  "aes-256-cbc",
  "aes-192-ctr",
  "aes-256-ecb",
  "aes-128-gcm",
  "aes-256-gcm",
  "aes-128-ccm",
  "aes-128-ofb",
  "aes-128-cfb8",
  "chacha20-poly1305",
  "des-ede3-cbc",
  "aes128",
  "nope",
]) {
  test(`cipher ${name}`, () => {
    const info = crypto.getCipherInfo(name);
    const secret = key(info?.keyLength ?? 16);
    const iv = info?.ivLength ? key(info.ivLength) : null;
    const options = /gcm|ccm|poly/.test(name) ? { authTagLength: 16 } : undefined;
    const cipher = crypto.createCipheriv(name, secret, iv, options);
    const data = cipher.update("attack at dawn", "utf8", "hex") + cipher.final("hex");
    const decipher = crypto.createDecipheriv(name, secret, iv, options);
    const tag = options && cipher.getAuthTag();
    if (tag) decipher.setAuthTag(tag);
    return [data, decipher.update(data, "hex", "utf8") + (name.includes("ccm") ? "" : decipher.final("utf8")), tag?.toString("hex")];
  });
  test(`getCipherInfo ${name}`, () => ({ ...crypto.getCipherInfo(name) }));
}
const cases = {
  randomBytes: () => [crypto.randomBytes(5).length, Buffer.isBuffer(crypto.randomBytes(1))],
  "randomBytes: a callback": () => new Promise((resolve) => crypto.randomBytes(4, (error, data) => resolve([error, data.length]))),
  "randomBytes: negative": () => crypto.randomBytes(-1),
  randomInt: () => [crypto.randomInt(1), crypto.randomInt(5, 6)],
  "randomInt: a wrong range": () => crypto.randomInt(5, 5),
  randomFillSync: () => crypto.randomFillSync(Buffer.alloc(4)).length,
  randomUUID: () => /^[0-9a-f-]{36}$/.test(crypto.randomUUID()),
  getRandomValues: () => crypto.getRandomValues(new Uint8Array(2)).length,
  timingSafeEqual: () => [
    crypto.timingSafeEqual(Buffer.from("a"), Buffer.from("a")),
    crypto.timingSafeEqual(Buffer.from("a"), Buffer.from("b")),
  ],
  "timingSafeEqual: lengths": () => crypto.timingSafeEqual(Buffer.from("a"), Buffer.from("ab")),
  pbkdf2Sync: () => crypto.pbkdf2Sync("password", "salt", 1000, 32, "sha256").toString("hex"),
  pbkdf2: () =>
    new Promise((resolve) => crypto.pbkdf2("password", "salt", 1, 20, "sha1", (error, data) => resolve([error, data.toString("hex")]))),
  "pbkdf2Sync: an unknown digest": () => crypto.pbkdf2Sync("p", "s", 1, 2, "nope"),
  scryptSync: () => crypto.scryptSync("password", "salt", 32).toString("hex"),
  "scryptSync: options": () => crypto.scryptSync("password", "salt", 16, { N: 1024, r: 8, p: 1 }).toString("hex"),
  "scryptSync: too much memory": () => crypto.scryptSync("p", "s", 16, { N: 1 << 20 }),
  hkdfSync: () => Buffer.from(crypto.hkdfSync("sha256", "key", "salt", "info", 32)).toString("hex"),
  "hash: twice": () => {
    const hash = crypto.createHash("sha256");
    hash.digest();
    return hash.update("a");
  },
  "hash: copy": () => {
    const hash = crypto.createHash("sha256").update("a");
    return [hash.copy().update("b").digest("hex"), hash.digest("hex")];
  },
  "hash: encodings": () =>
    ["hex", "base64", "base64url", "latin1"].map((encoding) => crypto.createHash("md5").update("a").digest(encoding)),
  "hash: as a stream": () =>
    new Promise((resolve) => {
      const hash = crypto.createHash("sha1");
      hash.on("readable", () => {
        const data = hash.read();
        if (data) resolve(data.toString("hex"));
      });
      hash.end("abc");
    }),
  "hash: of a number": () => crypto.createHash("sha1").update(5),
  getHashes: () => crypto.getHashes().length > 10,
  getCiphers: () => crypto.getCiphers().includes("aes-256-gcm"),
  getCurves: () => crypto.getCurves().includes("prime256v1"),
  getFips: () => crypto.getFips(),
  "cipher: a wrong key length": () => crypto.createCipheriv("aes-128-cbc", key(15), key(16)),
  "cipher: a wrong iv length": () => crypto.createCipheriv("aes-128-cbc", key(16), key(15)),
  "cipher: no padding": () => {
    const cipher = crypto.createCipheriv("aes-128-cbc", key(16), key(16));
    cipher.setAutoPadding(false);
    return cipher.update(Buffer.alloc(16), null, "hex") + cipher.final("hex");
  },
  "cipher: bad padding": () => {
    const decipher = crypto.createDecipheriv("aes-128-cbc", key(16), key(16));
    decipher.update(Buffer.alloc(16));
    return decipher.final();
  },
  "cipher: a wrong tag": () => {
    const decipher = crypto.createDecipheriv("aes-128-gcm", key(16), key(12));
    decipher.setAuthTag(Buffer.alloc(16));
    decipher.update(Buffer.alloc(4));
    return decipher.final();
  },
  "cipher: additional data": () => {
    const cipher = crypto.createCipheriv("aes-256-gcm", key(32), key(12));
    cipher.setAAD(Buffer.from("aad"));
    return [cipher.update("x", "utf8", "hex") + cipher.final("hex"), cipher.getAuthTag().toString("hex")];
  },
  createSecretKey: () => {
    const secret = crypto.createSecretKey(key(16));
    return [
      secret.type,
      secret.symmetricKeySize,
      secret.export().toString("hex"),
      secret.export({ format: "jwk" }),
      secret.equals(crypto.createSecretKey(key(16))),
    ];
  },
  generateKeySync: () => crypto.generateKeySync("aes", { length: 128 }).symmetricKeySize,
  "RSA: sign and verify": () => {
    const { privateKey, publicKey } = crypto.generateKeyPairSync("rsa", { modulusLength: 2048 });
    const signature = crypto.sign("sha256", Buffer.from("x"), privateKey);
    return [
      signature.length,
      crypto.verify("sha256", Buffer.from("x"), publicKey, signature),
      crypto.createVerify("sha256").update("x").verify(publicKey, signature),
      publicKey.asymmetricKeyType,
      publicKey.asymmetricKeyDetails,
    ];
  },
  "RSA: encrypt and decrypt": () => {
    const { privateKey, publicKey } = crypto.generateKeyPairSync("rsa", { modulusLength: 2048 });
    return crypto.privateDecrypt(privateKey, crypto.publicEncrypt(publicKey, Buffer.from("x"))).toString();
  },
  "EC: sign and verify": () => {
    const { privateKey, publicKey } = crypto.generateKeyPairSync("ec", { namedCurve: "prime256v1" });
    const signature = crypto.createSign("sha256").update("x").sign(privateKey);
    return [
      crypto.createVerify("sha256").update("x").verify(publicKey, signature),
      publicKey.export({ format: "jwk" }).crv,
      publicKey.export({ format: "pem", type: "spki" }).split("\n")[0],
      privateKey.export({ format: "pem", type: "pkcs8" }).split("\n")[0],
    ];
  },
  Ed25519: () => {
    const { privateKey, publicKey } = crypto.generateKeyPairSync("ed25519");
    const signature = crypto.sign(null, Buffer.from("x"), privateKey);
    return [signature.length, crypto.verify(null, Buffer.from("x"), publicKey, signature)];
  },
  "generateKeyPair: PEM": () =>
    new Promise((resolve) =>
      crypto.generateKeyPair(
        "ec",
        { namedCurve: "P-256", publicKeyEncoding: { type: "spki", format: "pem" }, privateKeyEncoding: { type: "pkcs8", format: "pem" } },
        (error, publicKey, privateKey) => resolve([error ?? null, publicKey?.split("\n")[0], privateKey?.split("\n")[0]]),
      ),
    ),
  "X25519: diffieHellman": () => {
    const [a, b] = [crypto.generateKeyPairSync("x25519"), crypto.generateKeyPairSync("x25519")];
    return crypto
      .diffieHellman({ privateKey: a.privateKey, publicKey: b.publicKey })
      .equals(crypto.diffieHellman({ privateKey: b.privateKey, publicKey: a.publicKey }));
  },
  ECDH: () => {
    const [a, b] = [crypto.createECDH("prime256v1"), crypto.createECDH("prime256v1")];
    a.generateKeys();
    b.generateKeys();
    return a.computeSecret(b.getPublicKey()).equals(b.computeSecret(a.getPublicKey()));
  },
  DiffieHellman: () => {
    const a = crypto.getDiffieHellman("modp5");
    const b = crypto.getDiffieHellman("modp5");
    a.generateKeys();
    b.generateKeys();
    return a.computeSecret(b.getPublicKey()).equals(b.computeSecret(a.getPublicKey()));
  },
  "createPublicKey of a private one": () =>
    crypto.createPublicKey(crypto.generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey).type,
  "createPrivateKey of nonsense": () => crypto.createPrivateKey("nonsense"),
  generatePrimeSync: () => crypto.checkPrimeSync(crypto.generatePrimeSync(32)),
  checkPrimeSync: () => [crypto.checkPrimeSync(7n), crypto.checkPrimeSync(8n)],
  "X509Certificate of nonsense": () => new crypto.X509Certificate("x"),
  webcrypto: () => [crypto.webcrypto === globalThis.crypto, crypto.subtle === globalThis.crypto.subtle],
  constants: () => [crypto.constants.RSA_PKCS1_PADDING, crypto.constants.RSA_PKCS1_OAEP_PADDING, typeof crypto.constants.defaultCipherList],
  secureHeapUsed: () => crypto.secureHeapUsed(),
  Certificate: () => typeof crypto.Certificate,
  setEngine: () => crypto.setEngine("x"),
};
for (const [name, run] of Object.entries(cases)) test(name, run);
