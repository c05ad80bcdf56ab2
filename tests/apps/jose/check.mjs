export default async function ({ ask, see }) {
  const claims = {
    role: "admin",
    sub: "ada",
    iss: "urn:issuer",
    aud: ["urn:a", "urn:b"],
    jti: "id-1",
    iat: 1767225600,
    nbf: 1700000000,
    exp: 4070908800,
  };
  const random = { hide: [/\.[\w-]{86,342}(?="|\\)/g] };
  for (const [algorithm, length, options] of [
    ["HS256", 43],
    ["HS384", 64],
    ["HS512", 86],
    ["RS256", 342],
    ["PS256", 342, random],
    ["ES256", 86, random],
    ["ES384", 128, random],
    ["EdDSA", 86],
  ]) {
    const answer = await ask(
      `GET /sign?alg=${algorithm}`,
      { ...options },
      { body: { token: new RegExp(`^[\\w-]+\\.[\\w-]+\\.[\\w-]{${length}}$`) } },
    );
    const { token } = JSON.parse(answer.body);
    const [header, payload] = token.split(".");
    await see(
      `the parts of ${algorithm}`,
      [header, payload].map((part) => JSON.parse(Buffer.from(part, "base64url"))),
      [{ alg: algorithm, typ: "JWT", kid: "k1" }, claims],
    );
    const verified = { value: { payload: claims, protectedHeader: { alg: algorithm, typ: "JWT", kid: "k1" } } };
    await ask(`POST /verify?alg=${algorithm}`, { body: token }, { body: verified });
    const forged = [header, Buffer.from(JSON.stringify({ ...claims, role: "root" })).toString("base64url"), token.split(".")[2]].join(".");
    await ask(
      `POST /verify?alg=${algorithm}`,
      { name: `a forged ${algorithm}`, body: forged },
      { body: { name: "JWSSignatureVerificationFailed", code: "ERR_JWS_SIGNATURE_VERIFICATION_FAILED", claim: null } },
    );
  }
  await ask(
    "POST /verify?alg=HS256",
    { name: "no token", body: "x.y" },
    { body: { name: "JWSInvalid", code: "ERR_JWS_INVALID", claim: null } },
  );

  const failed = (claim) => ({ name: "JWTClaimValidationFailed", code: "ERR_JWT_CLAIM_VALIDATION_FAILED", claim });
  const isValid = ({ value }) => value.protectedHeader.alg === "HS256";
  await ask("GET /claims", {
    body: {
      expired: { name: "JWTExpired", code: "ERR_JWT_EXPIRED", claim: "exp" },
      early: failed("nbf"),
      tolerant: isValid,
      old: { name: "JWTExpired", code: "ERR_JWT_EXPIRED", claim: "iat" },
      audience: failed("aud"),
      issuer: failed("iss"),
      required: failed("sub"),
      algorithm: { name: "JOSEAlgNotAllowed", code: "ERR_JOSE_ALG_NOT_ALLOWED", claim: null },
      type: failed("exp"),
    },
  });

  const rsa = { e: "AQAB", kty: "RSA", n: "string" };
  const curve = (crv) => ({ crv, kty: "EC", x: "string", y: "string" });
  for (const [algorithm, jwk] of [
    ["RS256", rsa],
    ["PS384", rsa],
    ["ES256", curve("P-256")],
    ["ES384", curve("P-384")],
    ["ES512", curve("P-521")],
    ["EdDSA", { crv: "Ed25519", kty: "OKP", x: "string" }],
    ["Ed25519", { crv: "Ed25519", kty: "OKP", x: "string" }],
  ])
    await ask(`GET /generate?alg=${algorithm}`, { body: { jwk, pem: true, one: { n: 1 }, two: { n: 2 } } });

  const encrypted = (header) => ({
    parts: 5,
    payload: { hidden: true, iss: "me" },
    header,
    changed: { name: "JWEDecryptionFailed", code: "ERR_JWE_DECRYPTION_FAILED", claim: null },
  });
  const simple = encrypted(["alg", "enc"]);
  for (const [algorithm, encoding, wanted] of [
    ["dir", "A128GCM", simple],
    ["dir", "A256GCM", simple],
    ["dir", "A128CBC-HS256", simple],
    ["dir", "A256CBC-HS512", simple],
    ["A128KW", "A128GCM", simple],
    ["A256KW", "A256CBC-HS512", simple],
    ["A256GCMKW", "A256GCM", encrypted(["alg", "enc", "iv", "tag"])],
    ["RSA-OAEP-256", "A256GCM", simple],
    ["ECDH-ES", "A256GCM", encrypted(["alg", "enc", "epk"])],
    ["ECDH-ES&crv=X25519", "A256GCM", encrypted(["alg", "enc", "epk"])],
    ["ECDH-ES%2BA128KW&crv=P-384", "A128CBC-HS256", encrypted(["alg", "enc", "epk"])],
    ["PBES2-HS256%2BA128KW", "A128GCM", encrypted(["alg", "enc", "p2c", "p2s"])],
  ])
    await ask(`GET /jwe?enc=${encoding}&alg=${algorithm}`, { body: wanted });

  await ask("GET /jwks", {
    body: {
      thumbprints: [/^[\w-]{43}$/, /^[\w-]{86}$/, /^urn:ietf:params:oauth:jwk-thumbprint:sha-256:[\w-]{43}$/],
      rsa: { kid: "rsa" },
      ec: { kid: "ec" },
      none: { name: "JWKSNoMatchingKey", code: "ERR_JWKS_NO_MATCHING_KEY", claim: null },
    },
  });
  await ask("GET /remote", { body: { payloads: [{ far: true }, { far: true }], asked: 1, fresh: true } });
  await ask("GET /jws", {
    body: {
      compact: [/^eyJhbGciOiJIUzUxMiJ9\.YW55IGJ5dGVz\.[\w-]{86}$/, "any bytes"],
      flat: [{ signature: /^[\w-]{43}$/, payload: "", protected: /^eyJ/, header: { kid: "k" } }, "any bytes"],
      general: [({ payload, signatures }) => payload === "YW55IGJ5dGVz" && signatures.length === 2, "any bytes"],
    },
  });
  await ask("GET /certificate", { body: { type: "public", algorithm: "RSASSA-PKCS1-v1_5", bits: 2048 } });
  await ask("GET /decode?token=eyJhbGciOiJIUzI1NiJ9.eyJhIjoxfQ.x", { body: { header: { alg: "HS256" }, payload: { a: 1 } } });
  await ask("GET /decode?token=x", { body: { name: "TypeError", message: /Invalid/ } });
  await ask("GET /unsecured", {
    body: { token: "eyJhbGciOiJub25lIn0.eyJvcGVuIjp0cnVlLCJpYXQiOjF9.", payload: { open: true, iat: 1 }, base64url: ["__4", [255, 254]] },
  });
}
