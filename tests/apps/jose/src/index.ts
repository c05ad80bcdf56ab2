import * as jose from "jose";
import { certificate, keys } from "./keys";

const secret = new TextEncoder().encode("a secret of the tests with more than 64 bytes, as HS512 would like it to be");
const expires = "2099-01-01T00:00:00Z";
/** What a promise is refused with. */
const refused = (promise: Promise<unknown>) =>
  promise.then(
    (value) => ({ value }),
    (error) => ({ name: error.name, code: error.code ?? null, claim: error.claim ?? null }),
  );

const routes: Record<string, (url: URL, request: Request) => unknown> = {
  /** A token of a fixed time and key is the same everywhere where the algorithm has no random part. */
  async "/sign"(url) {
    const algorithm = url.searchParams.get("alg")!;
    const key = algorithm.startsWith("HS") ? secret : await jose.importPKCS8(keys[algorithm].private, algorithm);
    const token = await new jose.SignJWT({ role: "admin" })
      .setProtectedHeader({ alg: algorithm, typ: "JWT", kid: "k1" })
      .setSubject("ada")
      .setIssuer("urn:issuer")
      .setAudience(["urn:a", "urn:b"])
      .setJti("id-1")
      .setIssuedAt(new Date("2026-01-01T00:00:00Z"))
      .setNotBefore(1700000000)
      .setExpirationTime(new Date(expires))
      .sign(key);
    return { token };
  },

  async "/verify"(url, request) {
    const algorithm = url.searchParams.get("alg")!;
    const key = algorithm.startsWith("HS") ? secret : await jose.importSPKI(keys[algorithm].public, algorithm);
    const token = await request.text();
    return refused(
      jose
        .jwtVerify(token, key, { issuer: "urn:issuer", audience: "urn:b", subject: "ada", typ: "JWT" })
        .then(({ payload, protectedHeader }) => ({ payload, protectedHeader })),
    );
  },

  async "/claims"() {
    const sign = (claims: jose.JWTPayload) => new jose.SignJWT(claims).setProtectedHeader({ alg: "HS256" }).sign(secret);
    const verify = async (claims: jose.JWTPayload, options?: jose.JWTVerifyOptions) =>
      refused(jose.jwtVerify(await sign(claims), secret, options));
    return {
      expired: await verify({ exp: 1 }),
      early: await verify({ nbf: 4102444800 }),
      tolerant: await verify({ exp: 1000 }, { currentDate: new Date(1_005_000), clockTolerance: "10 s" }),
      old: await verify({ iat: 1000 }, { maxTokenAge: "1 hour" }),
      audience: await verify({ aud: "a" }, { audience: ["b", "c"] }),
      issuer: await verify({}, { issuer: "x" }),
      required: await verify({}, { requiredClaims: ["sub"] }),
      algorithm: await verify({}, { algorithms: ["HS512"] }),
      type: await verify({ exp: "soon" } as never),
    };
  },

  /** Keys that are made here, exported and imported again. */
  async "/generate"(url) {
    const algorithm = url.searchParams.get("alg")!;
    const { publicKey, privateKey } = await jose.generateKeyPair(algorithm, { extractable: true });
    const jwk = await jose.exportJWK(publicKey);
    const token = await new jose.SignJWT({ n: 1 }).setProtectedHeader({ alg: algorithm }).sign(privateKey);
    const pem = await jose.exportSPKI(publicKey);
    const again = await jose.importSPKI(pem, algorithm);
    const own = await jose.importJWK(await jose.exportJWK(privateKey), algorithm);
    const other = await new jose.SignJWT({ n: 2 }).setProtectedHeader({ alg: algorithm }).sign(own);
    return {
      jwk: Object.fromEntries(
        Object.entries(jwk)
          .sort()
          .map(([name, value]) => [name, ["kty", "crv", "e"].includes(name) ? value : typeof value]),
      ),
      pem: /^-----BEGIN PUBLIC KEY-----\n[\w+/=\n]+-----END PUBLIC KEY-----/.test(pem),
      one: (await jose.jwtVerify(token, again)).payload,
      two: (await jose.jwtVerify(other, publicKey)).payload,
    };
  },

  async "/jwe"(url) {
    const algorithm = url.searchParams.get("alg")!;
    const encoding = url.searchParams.get("enc")!;
    let [publicKey, privateKey]: (CryptoKey | Uint8Array)[] = [];
    if (/^(RSA|ECDH)/.test(algorithm))
      ({ publicKey, privateKey } = await jose.generateKeyPair(algorithm, { crv: url.searchParams.get("crv") ?? undefined }));
    else if (algorithm.startsWith("PBES2")) publicKey = privateKey = new TextEncoder().encode("a password");
    else
      publicKey = privateKey = (await jose.generateSecret(algorithm === "dir" ? encoding : algorithm, { extractable: true })) as CryptoKey;
    const token = await new jose.EncryptJWT({ hidden: true })
      .setProtectedHeader({ alg: algorithm, enc: encoding })
      .setIssuer("me")
      .encrypt(publicKey);
    const options = { keyManagementAlgorithms: [algorithm] };
    const { payload, protectedHeader } = await jose.jwtDecrypt(token, privateKey, options);
    const changed = token.replace(/.{6}$/, "AAAAAA");
    return {
      parts: token.split(".").length,
      payload,
      header: Object.keys(protectedHeader).sort(),
      changed: await refused(jose.jwtDecrypt(changed, privateKey, options)),
    };
  },

  async "/jwks"() {
    const rsa = {
      ...(await jose.exportJWK(await jose.importSPKI(keys.RS256.public, "RS256", { extractable: true }))),
      kid: "rsa",
      alg: "RS256",
      use: "sig",
    };
    const ec = {
      ...(await jose.exportJWK(await jose.importSPKI(keys.ES256.public, "ES256", { extractable: true }))),
      kid: "ec",
      alg: "ES256",
    };
    const set = jose.createLocalJWKSet({ keys: [rsa, ec] });
    const token = async (alg: string, kid: string) =>
      new jose.SignJWT({ kid }).setProtectedHeader({ alg, kid }).sign(await jose.importPKCS8(keys[alg].private, alg));
    return {
      thumbprints: [
        await jose.calculateJwkThumbprint(rsa),
        await jose.calculateJwkThumbprint(ec, "sha512"),
        await jose.calculateJwkThumbprintUri(ec),
      ],
      rsa: (await jose.jwtVerify(await token("RS256", "rsa"), set)).payload,
      ec: (await jose.jwtVerify(await token("ES256", "ec"), set)).payload,
      none: await refused(jose.jwtVerify(await token("ES256", "unknown"), set)),
    };
  },

  /** The set comes from another server, through the option that stands for `fetch`. */
  async "/remote"() {
    const ec = {
      ...(await jose.exportJWK(await jose.importSPKI(keys.ES256.public, "ES256", { extractable: true }))),
      kid: "ec",
      alg: "ES256",
    };
    let asked = 0;
    const set = jose.createRemoteJWKSet(new URL("https://keys.test/jwks.json"), {
      [jose.customFetch]: async (url: string, options: RequestInit) => {
        asked++;
        const request = new Request(url, options as RequestInit);
        return Response.json({ keys: request.method === "GET" ? [ec] : [] });
      },
    } as never);
    const token = await new jose.SignJWT({ far: true })
      .setProtectedHeader({ alg: "ES256", kid: "ec" })
      .sign(await jose.importPKCS8(keys.ES256.private, "ES256"));
    const payloads = [(await jose.jwtVerify(token, set)).payload, (await jose.jwtVerify(token, set)).payload];
    return { payloads, asked, fresh: set.fresh };
  },

  async "/jws"() {
    const data = new TextEncoder().encode("any bytes");
    const compact = await new jose.CompactSign(data).setProtectedHeader({ alg: "HS512" }).sign(secret);
    const flat = await new jose.FlattenedSign(data)
      .setProtectedHeader({ alg: "HS256", b64: false, crit: ["b64"] })
      .setUnprotectedHeader({ kid: "k" })
      .sign(secret);
    const general = await new jose.GeneralSign(data)
      .addSignature(secret)
      .setProtectedHeader({ alg: "HS256" })
      .addSignature(await jose.importPKCS8(keys.EdDSA.private, "EdDSA"))
      .setProtectedHeader({ alg: "EdDSA" })
      .sign();
    const read = async (bytes: Promise<{ payload: Uint8Array }>) => new TextDecoder().decode((await bytes).payload);
    return {
      compact: [compact, await read(jose.compactVerify(compact, secret))],
      flat: [flat, await read(jose.flattenedVerify({ ...flat, payload: data }, secret))],
      general: [general, await read(jose.generalVerify(general, await jose.importSPKI(keys.EdDSA.public, "EdDSA")))],
    };
  },

  async "/certificate"() {
    const key = await jose.importX509(certificate, "RS256");
    return { type: key.type, algorithm: key.algorithm.name, bits: (key.algorithm as RsaHashedKeyAlgorithm).modulusLength };
  },

  "/decode": (url) => {
    const token = url.searchParams.get("token")!;
    try {
      return { header: jose.decodeProtectedHeader(token), payload: jose.decodeJwt(token) };
    } catch (error) {
      return { name: (error as Error).name, message: (error as Error).message };
    }
  },

  "/unsecured": () => {
    const token = new jose.UnsecuredJWT({ open: true }).setIssuedAt(1).encode();
    return {
      token,
      payload: jose.UnsecuredJWT.decode(token).payload,
      base64url: [jose.base64url.encode(new Uint8Array([255, 254])), [...jose.base64url.decode("__4")]],
    };
  },
};

export default {
  async fetch(request: Request): Promise<Response> {
    const url = new URL(request.url);
    const route = routes[url.pathname];
    return route ? Response.json(await route(url, request)) : new Response("not found", { status: 404 });
  },
};
