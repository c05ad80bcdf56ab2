import { caught, suite, threw } from "./suite.js";
import recorded from "./recorded.js";

const { test, handler } = suite(recorded);
export default handler;

const { subtle } = crypto;
const bytes = (text) => new TextEncoder().encode(text);
const hex = (data) => Array.from(new Uint8Array(data), (byte) => byte.toString(16).padStart(2, "0")).join("");
const sequence = (length) => Uint8Array.from({ length }, (_, i) => i);

// Digests
for (const name of ["SHA-1", "SHA-256", "SHA-384", "SHA-512", "MD5", "sha-256", "SHA-224", "SHA3-256", "SHA-512/256", "BLAKE2b"]) {
  test(`digest: ${name}`, async () => hex(await subtle.digest(name, bytes("abc"))));
  test(`DigestStream: ${name}`, async () => {
    const stream = new crypto.DigestStream(name);
    const writer = stream.getWriter();
    await writer.write(bytes("ab"));
    await writer.write(bytes("c"));
    await writer.close();
    return hex(await stream.digest);
  });
}
test(
  "digest: of an object",
  async () => hex(await subtle.digest({ name: "SHA-256" }, new ArrayBuffer(0))),
  "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
);
test("digest: of a text", () => subtle.digest("SHA-256", "abc"));
test("digest: without data", () => subtle.digest("SHA-256"));
test("DigestStream: a text", async () => {
  const stream = new crypto.DigestStream("SHA-256");
  const writer = stream.getWriter();
  await writer.write("abc");
  await writer.close();
  return hex(await stream.digest);
});
test("DigestStream: bytesWritten", async () => {
  const stream = new crypto.DigestStream("SHA-256");
  const writer = stream.getWriter();
  await writer.write(bytes("abc"));
  await writer.close();
  return stream.bytesWritten;
});
test(
  "DigestStream: from a body",
  async () => {
    const stream = new crypto.DigestStream("SHA-1");
    await new Response("abc").body.pipeTo(stream);
    return hex(await stream.digest);
  },
  "a9993e364706816aba3e25717850c26c9cd0d89d",
);
test("DigestStream: is a WritableStream", () => new crypto.DigestStream("SHA-1") instanceof WritableStream, true);
test("DigestStream: an unknown name", () => new crypto.DigestStream("x"));
test("DigestStream: a wrong chunk", async () => {
  const stream = new crypto.DigestStream("SHA-1");
  stream.digest.catch(() => {});
  return caught(() => stream.getWriter().write(5));
});
test("timingSafeEqual", () => [subtle.timingSafeEqual(bytes("abc"), bytes("abc")), subtle.timingSafeEqual(bytes("abc"), bytes("abd"))], [
  true,
  false,
]);
test("timingSafeEqual: lengths", () => subtle.timingSafeEqual(bytes("abc"), bytes("ab")));
test("timingSafeEqual: texts", () => subtle.timingSafeEqual("a", "a"));

// Random
test(
  "getRandomValues: gives the same array",
  () => {
    const array = new Uint8Array(8);
    return crypto.getRandomValues(array) === array;
  },
  true,
);
test("getRandomValues: fills", () => crypto.getRandomValues(new Uint8Array(64)).some((byte) => byte), true);
test("getRandomValues: 65536", () => crypto.getRandomValues(new Uint8Array(65536)).length, 65536);
test("getRandomValues: 65537", () => crypto.getRandomValues(new Uint8Array(65537)));
for (const Type of [Int8Array, Uint8ClampedArray, Int32Array, BigInt64Array, BigUint64Array, Float32Array, Float64Array, DataView]) {
  test(`getRandomValues: ${Type.name}`, () =>
    crypto.getRandomValues(Type === DataView ? new DataView(new ArrayBuffer(8)) : new Type(2)).byteLength);
}
test("getRandomValues: of an array", () => crypto.getRandomValues([1]));
test("getRandomValues: of nothing", () => crypto.getRandomValues());
test("randomUUID", () => /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(crypto.randomUUID()), true);
test("tags", () => [crypto, subtle].map(String), ["[object Crypto]", "[object SubtleCrypto]"]);
test("getRandomValues: detached from crypto", () => {
  const { getRandomValues } = crypto;
  return getRandomValues(new Uint8Array(1)).length;
});

// HMAC
const hmac = (hash, usages = ["sign", "verify"]) => subtle.importKey("raw", bytes("key"), { name: "HMAC", hash }, true, usages);
for (const hash of ["SHA-1", "SHA-256", "SHA-384", "SHA-512"]) {
  test(`HMAC ${hash}`, async () => hex(await subtle.sign("HMAC", await hmac(hash), bytes("message"))));
  test(
    `HMAC ${hash}: verify`,
    async () => {
      const key = await hmac(hash);
      const signature = await subtle.sign("HMAC", key, bytes("message"));
      return [await subtle.verify("HMAC", key, signature, bytes("message")), await subtle.verify("HMAC", key, signature, bytes("other"))];
    },
    [true, false],
  );
  test(`HMAC ${hash}: generated`, async () => {
    const key = await subtle.generateKey({ name: "HMAC", hash }, true, ["sign"]);
    const { type, extractable, usages, algorithm } = key;
    return { type, extractable, usages, algorithm, length: (await subtle.exportKey("raw", key)).byteLength };
  });
}
test("HMAC: jwk", async () => subtle.exportKey("jwk", await hmac("SHA-256")));
test(
  "HMAC: import of jwk",
  async () =>
    hex(
      await subtle.exportKey(
        "raw",
        await subtle.importKey("jwk", { kty: "oct", k: "AQID", alg: "HS256" }, { name: "HMAC", hash: "SHA-256" }, true, ["sign"]),
      ),
    ),
  "010203",
);
test("HMAC: a key of a wrong usage", async () => subtle.sign("HMAC", await hmac("SHA-256", ["verify"]), bytes("x")));
test("HMAC: the key's properties", async () => {
  const { type, extractable, usages, algorithm } = await hmac("SHA-256");
  return { type, extractable, usages, algorithm };
});
test("HMAC: without a hash", () => subtle.importKey("raw", bytes("key"), "HMAC", true, ["sign"]));
test("HMAC: no usages", () => subtle.importKey("raw", bytes("key"), { name: "HMAC", hash: "SHA-256" }, true, []));
test("HMAC: a usage of another kind", () => subtle.importKey("raw", bytes("key"), { name: "HMAC", hash: "SHA-256" }, true, ["encrypt"]));
test("HMAC: an unknown usage", () => subtle.importKey("raw", bytes("key"), { name: "HMAC", hash: "SHA-256" }, true, ["nope"]));
test("HMAC: an empty key", () => subtle.importKey("raw", new Uint8Array(0), { name: "HMAC", hash: "SHA-256" }, true, ["sign"]));
test("a key that is not extractable", async () =>
  subtle.exportKey("raw", await subtle.importKey("raw", bytes("key"), { name: "HMAC", hash: "SHA-256" }, false, ["sign"])));
test("a key: tag", async () => String(await hmac("SHA-256")), "[object CryptoKey]");

// AES
for (const name of ["AES-GCM", "AES-CBC", "AES-CTR"]) {
  const parameters = {
    "AES-GCM": { name, iv: sequence(12) },
    "AES-CBC": { name, iv: sequence(16) },
    "AES-CTR": { name, counter: sequence(16), length: 64 },
  }[name];
  for (const length of [16, 24, 32]) {
    test(`${name} ${length * 8}`, async () => {
      const key = await subtle.importKey("raw", sequence(length), name, true, ["encrypt", "decrypt"]);
      const data = await subtle.encrypt(parameters, key, bytes("attack at dawn"));
      return [hex(data), new TextDecoder().decode(await subtle.decrypt(parameters, key, data))];
    });
  }
  test(`${name}: a key of 15 bytes`, () => subtle.importKey("raw", sequence(15), name, true, ["encrypt"]));
  test(`${name}: generated, jwk`, async () => {
    const jwk = await subtle.exportKey("jwk", await subtle.generateKey({ name, length: 256 }, true, ["encrypt", "decrypt"]));
    return { ...jwk, k: jwk.k.length };
  });
}
test("AES-GCM: additional data and tag length", async () => {
  const key = await subtle.importKey("raw", sequence(16), "AES-GCM", true, ["encrypt", "decrypt"]);
  return hex(await subtle.encrypt({ name: "AES-GCM", iv: sequence(12), additionalData: bytes("aad"), tagLength: 96 }, key, bytes("x")));
});
test("AES-GCM: a changed text", async () => {
  const key = await subtle.importKey("raw", sequence(16), "AES-GCM", true, ["encrypt", "decrypt"]);
  return subtle.decrypt({ name: "AES-GCM", iv: sequence(12) }, key, new Uint8Array(20));
});
test("AES-GCM: too short", async () => {
  const key = await subtle.importKey("raw", sequence(16), "AES-GCM", true, ["encrypt", "decrypt"]);
  return subtle.decrypt({ name: "AES-GCM", iv: sequence(12) }, key, new Uint8Array(3));
});
test("AES-GCM: a tag length of 5", async () => {
  const key = await subtle.importKey("raw", sequence(16), "AES-GCM", true, ["encrypt"]);
  return subtle.encrypt({ name: "AES-GCM", iv: sequence(12), tagLength: 5 }, key, bytes("x"));
});
test("AES-GCM: no iv", async () => {
  const key = await subtle.importKey("raw", sequence(16), "AES-GCM", true, ["encrypt"]);
  return subtle.encrypt({ name: "AES-GCM" }, key, bytes("x"));
});
test("AES-CBC: an iv of 8 bytes", async () => {
  const key = await subtle.importKey("raw", sequence(16), "AES-CBC", true, ["encrypt"]);
  return subtle.encrypt({ name: "AES-CBC", iv: sequence(8) }, key, bytes("x"));
});
test("AES-CBC: bad padding", async () => {
  const key = await subtle.importKey("raw", sequence(16), "AES-CBC", true, ["decrypt"]);
  return subtle.decrypt({ name: "AES-CBC", iv: sequence(16) }, key, new Uint8Array(16));
});
test("AES-KW: wrap and unwrap", async () => {
  const wrapping = await subtle.importKey("raw", sequence(16), "AES-KW", true, ["wrapKey", "unwrapKey"]);
  const key = await subtle.importKey("raw", sequence(16), "AES-GCM", true, ["encrypt"]);
  const wrapped = await subtle.wrapKey("raw", key, wrapping, "AES-KW");
  const back = await subtle.unwrapKey("raw", wrapped, wrapping, "AES-KW", "AES-GCM", true, ["encrypt"]);
  return [hex(wrapped), hex(await subtle.exportKey("raw", back))];
});
test(
  "AES-GCM: wrap as jwk",
  async () => {
    const wrapping = await subtle.importKey("raw", sequence(16), "AES-GCM", true, ["wrapKey", "unwrapKey"]);
    const key = await subtle.importKey("raw", sequence(16), "AES-CBC", true, ["encrypt"]);
    const parameters = { name: "AES-GCM", iv: sequence(12) };
    const wrapped = await subtle.wrapKey("jwk", key, wrapping, parameters);
    const back = await subtle.unwrapKey("jwk", wrapped, wrapping, parameters, "AES-CBC", true, ["encrypt"]);
    return hex(await subtle.exportKey("raw", back));
  },
  hex(sequence(16)),
);

// Derivation
test("PBKDF2", async () => {
  const key = await subtle.importKey("raw", bytes("password"), "PBKDF2", false, ["deriveBits"]);
  return hex(await subtle.deriveBits({ name: "PBKDF2", salt: bytes("salt"), iterations: 1000, hash: "SHA-256" }, key, 256));
});
test("PBKDF2: many iterations", async () => {
  const key = await subtle.importKey("raw", bytes("password"), "PBKDF2", false, ["deriveBits"]);
  return (await subtle.deriveBits({ name: "PBKDF2", salt: bytes("salt"), iterations: 100_001, hash: "SHA-256" }, key, 256)).byteLength;
});
test("PBKDF2: 0 iterations", async () => {
  const key = await subtle.importKey("raw", bytes("password"), "PBKDF2", false, ["deriveBits"]);
  return subtle.deriveBits({ name: "PBKDF2", salt: bytes("salt"), iterations: 0, hash: "SHA-256" }, key, 256);
});
test("PBKDF2: deriveKey", async () => {
  const key = await subtle.importKey("raw", bytes("password"), "PBKDF2", false, ["deriveKey"]);
  const derived = await subtle.deriveKey(
    { name: "PBKDF2", salt: bytes("salt"), iterations: 10, hash: "SHA-1" },
    key,
    { name: "AES-GCM", length: 128 },
    true,
    ["encrypt"],
  );
  return hex(await subtle.exportKey("raw", derived));
});
test("HKDF", async () => {
  const key = await subtle.importKey("raw", bytes("secret"), "HKDF", false, ["deriveBits"]);
  return hex(await subtle.deriveBits({ name: "HKDF", salt: bytes("salt"), info: bytes("info"), hash: "SHA-256" }, key, 128));
});
test("HKDF: 7 bits", async () => {
  const key = await subtle.importKey("raw", bytes("secret"), "HKDF", false, ["deriveBits"]);
  return subtle.deriveBits({ name: "HKDF", salt: bytes("salt"), info: bytes("info"), hash: "SHA-256" }, key, 7);
});
test("HKDF: null bits", async () => {
  const key = await subtle.importKey("raw", bytes("secret"), "HKDF", false, ["deriveBits"]);
  return subtle.deriveBits({ name: "HKDF", salt: bytes("salt"), info: bytes("info"), hash: "SHA-256" }, key, null);
});
test("HKDF: an extractable key", () => subtle.importKey("raw", bytes("secret"), "HKDF", true, ["deriveBits"]));

// Elliptic curves
for (const namedCurve of ["P-256", "P-384", "P-521", "secp256k1"]) {
  test(`ECDSA ${namedCurve}`, async () => {
    const { privateKey, publicKey } = await subtle.generateKey({ name: "ECDSA", namedCurve }, true, ["sign", "verify"]);
    const parameters = { name: "ECDSA", hash: "SHA-256" };
    const signature = await subtle.sign(parameters, privateKey, bytes("x"));
    return [
      signature.byteLength,
      await subtle.verify(parameters, publicKey, signature, bytes("x")),
      await subtle.verify(parameters, publicKey, signature, bytes("y")),
      publicKey.usages,
      privateKey.usages,
      publicKey.extractable,
    ];
  });
  test(`ECDH ${namedCurve}`, async () => {
    const [a, b] = await Promise.all([1, 2].map(() => subtle.generateKey({ name: "ECDH", namedCurve }, true, ["deriveBits"])));
    const one = await subtle.deriveBits({ name: "ECDH", public: b.publicKey }, a.privateKey, 256);
    const two = await subtle.deriveBits({ name: "ECDH", public: a.publicKey }, b.privateKey, 256);
    return [hex(one) === hex(two), one.byteLength];
  });
  test(`EC ${namedCurve}: formats`, async () => {
    const { privateKey, publicKey } = await subtle.generateKey({ name: "ECDSA", namedCurve }, true, ["sign", "verify"]);
    const jwk = await subtle.exportKey("jwk", privateKey);
    return [
      Object.keys(jwk).sort(),
      (await subtle.exportKey("raw", publicKey)).byteLength,
      (await subtle.exportKey("spki", publicKey)).byteLength,
      (await subtle.exportKey("pkcs8", privateKey)).byteLength,
    ];
  });
}
test("ECDSA: a hash is needed", async () => {
  const { privateKey } = await subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, true, ["sign"]);
  return subtle.sign("ECDSA", privateKey, bytes("x"));
});
test("ECDSA: raw of a private key", async () => {
  const { privateKey } = await subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, true, ["sign"]);
  return subtle.exportKey("raw", privateKey);
});
test("Ed25519", async () => {
  const { privateKey, publicKey } = await subtle.generateKey("Ed25519", true, ["sign", "verify"]);
  const signature = await subtle.sign("Ed25519", privateKey, bytes("x"));
  return [
    signature.byteLength,
    await subtle.verify("Ed25519", publicKey, signature, bytes("x")),
    (await subtle.exportKey("raw", publicKey)).byteLength,
    publicKey.algorithm,
  ];
});
test("Ed25519: a known key", async () => {
  const key = await subtle.importKey(
    "jwk",
    { kty: "OKP", crv: "Ed25519", d: "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A", x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" },
    "Ed25519",
    false,
    ["sign"],
  );
  return hex(await subtle.sign("Ed25519", key, bytes("abc")));
});
test("NODE-ED25519", async () => {
  const { publicKey } = await subtle.generateKey({ name: "NODE-ED25519", namedCurve: "NODE-ED25519" }, true, ["sign", "verify"]);
  return publicKey.algorithm;
});
test("X25519", async () => {
  const [a, b] = await Promise.all([1, 2].map(() => subtle.generateKey("X25519", true, ["deriveBits"])));
  const one = await subtle.deriveBits({ name: "X25519", public: b.publicKey }, a.privateKey, 256);
  return [hex(one) === hex(await subtle.deriveBits({ name: "X25519", public: a.publicKey }, b.privateKey, 256)), one.byteLength];
});

// RSA
for (const [name, sign] of [
  ["RSASSA-PKCS1-v1_5", "RSASSA-PKCS1-v1_5"],
  ["RSA-PSS", { name: "RSA-PSS", saltLength: 32 }],
]) {
  test(name, async () => {
    const { privateKey, publicKey } = await subtle.generateKey(
      { name, modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]), hash: "SHA-256" },
      true,
      ["sign", "verify"],
    );
    const signature = await subtle.sign(sign, privateKey, bytes("x"));
    const { algorithm } = publicKey;
    return [
      signature.byteLength,
      await subtle.verify(sign, publicKey, signature, bytes("x")),
      algorithm.name,
      algorithm.modulusLength,
      [...algorithm.publicExponent],
      algorithm.hash,
    ];
  });
}
test(
  "RSA-OAEP",
  async () => {
    const { privateKey, publicKey } = await subtle.generateKey(
      { name: "RSA-OAEP", modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]), hash: "SHA-256" },
      true,
      ["encrypt", "decrypt"],
    );
    const data = await subtle.encrypt({ name: "RSA-OAEP", label: bytes("l") }, publicKey, bytes("x"));
    return [data.byteLength, new TextDecoder().decode(await subtle.decrypt({ name: "RSA-OAEP", label: bytes("l") }, privateKey, data))];
  },
  [256, "x"],
);
test("RSA: jwk", async () => {
  const { privateKey } = await subtle.generateKey(
    { name: "RSASSA-PKCS1-v1_5", modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]), hash: "SHA-256" },
    true,
    ["sign"],
  );
  const { kty, alg, e, ext, key_ops, ...rest } = await subtle.exportKey("jwk", privateKey);
  return [kty, alg, e, ext, key_ops, Object.keys(rest).sort()];
});
test("RSA: an exponent of 4", () =>
  subtle.generateKey({ name: "RSA-OAEP", modulusLength: 2048, publicExponent: new Uint8Array([4]), hash: "SHA-256" }, true, ["encrypt"]));
test("RSA: a modulus of 128", () =>
  subtle.generateKey({ name: "RSA-OAEP", modulusLength: 128, publicExponent: new Uint8Array([1, 0, 1]), hash: "SHA-256" }, true, [
    "encrypt",
    "decrypt",
  ]));
test("RSA-RAW", () => subtle.importKey("raw", new Uint8Array(1), "RSA-RAW", true, ["sign"]));

test("an unknown algorithm", () => subtle.generateKey("x", true, ["sign"]));
test("an unknown format", () => subtle.importKey("x", new Uint8Array(16), "AES-GCM", true, ["encrypt"]));
test("an algorithm that cannot be generated", () => subtle.generateKey("PBKDF2", true, ["deriveBits"]));
test("no algorithm", () => subtle.generateKey());
test("a key of another algorithm", async () => subtle.encrypt({ name: "AES-GCM", iv: sequence(12) }, await hmac("SHA-256"), bytes("x")));
test("no key", () => subtle.sign("HMAC", {}, bytes("x")));
test("a bad jwk", () => subtle.importKey("jwk", { kty: "oct" }, "AES-GCM", true, ["encrypt"]));
test("a jwk of another kind", () => subtle.importKey("jwk", { kty: "RSA", n: "AQ", e: "AQAB" }, "AES-GCM", true, ["encrypt"]));
test("raw is no bytes", () => subtle.importKey("raw", "text", "AES-GCM", true, ["encrypt"]));
test("spki that is none", () => subtle.importKey("spki", new Uint8Array(8), { name: "ECDSA", namedCurve: "P-256" }, true, ["verify"]));
test("names are case-insensitive", async () => (await subtle.importKey("raw", sequence(16), "aes-gcm", true, ["encrypt"])).algorithm);
test("usages are ordered", async () =>
  (await subtle.importKey("raw", sequence(16), "AES-GCM", true, ["wrapKey", "decrypt", "encrypt", "encrypt"])).usages);
test("a hash of an unknown name", () => subtle.importKey("raw", sequence(16), { name: "HMAC", hash: "x" }, true, ["sign"]));
