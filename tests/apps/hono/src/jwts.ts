import { Hono } from "hono";
import { jwk } from "hono/jwk";
import { type JwtVariables, decode, jwt, sign, verify } from "hono/jwt";

const SECRET = "a secret of the tests";

const keys = async (algorithm: "ES256" | "RS256" | "EdDSA") => {
  const parameters = {
    ES256: { name: "ECDSA", namedCurve: "P-256" },
    RS256: { name: "RSASSA-PKCS1-v1_5", modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]), hash: "SHA-256" },
    EdDSA: { name: "Ed25519", namedCurve: "Ed25519" },
  }[algorithm];
  return (await crypto.subtle.generateKey(parameters, true, ["sign", "verify"])) as CryptoKeyPair;
};

export const jwts = new Hono<{ Variables: JwtVariables }>()
  .get("/sign", async (c) => c.text(await sign({ sub: "ada", role: "admin", exp: 4102444800 }, SECRET, "HS256")))
  .get("/sign/:algorithm{HS(256|384|512)}", async (c) => {
    const algorithm = c.req.param("algorithm") as "HS256" | "HS384" | "HS512";
    const token = await sign({ sub: algorithm }, SECRET, algorithm);
    return c.json({ token, payload: await verify(token, SECRET, algorithm), decoded: decode(token).header });
  })
  .get("/pair/:algorithm", async (c) => {
    const algorithm = c.req.param("algorithm") as "ES256" | "RS256" | "EdDSA";
    const [pair, other] = [await keys(algorithm), await keys(algorithm)];
    const token = await sign({ sub: algorithm }, pair.privateKey, algorithm);
    const refused = await verify(token, other.publicKey, algorithm).catch((error) => error.name);
    return c.json({ payload: await verify(token, pair.publicKey, algorithm), refused });
  })
  .get("/expired", async (c) => {
    const token = await sign({ exp: 1 }, SECRET, "HS256");
    return c.json(await verify(token, SECRET, "HS256").catch((error) => error.name));
  })
  .use("/private/*", jwt({ secret: SECRET, alg: "HS256" }))
  .get("/private/me", (c) => c.json(c.get("jwtPayload")))
  .get("/jwk", async (c) => {
    const pair = await keys("RS256");
    const exported = await crypto.subtle.exportKey("jwk", pair.publicKey);
    const token = await sign(
      { sub: "by a key set" },
      { ...(await crypto.subtle.exportKey("jwk", pair.privateKey)), kid: "k1" } as never,
      "RS256",
    );
    const app = new Hono()
      .use(jwk({ keys: [{ ...exported, kid: "k1", alg: "RS256" } as never], alg: ["RS256"] }))
      .get("/", (inner) => inner.json(inner.get("jwtPayload" as never)));
    const ask = (authorization: string) => app.request("/", { headers: { authorization } });
    const [good, bad] = [await ask(`Bearer ${token}`), await ask(`Bearer ${token.slice(0, -4)}AAAA`)];
    return c.json([good.status, await good.json(), bad.status]);
  });
