import { Hono } from "hono";
import { deleteCookie, generateCookie, getCookie, getSignedCookie, setCookie, setSignedCookie } from "hono/cookie";

const SECRET = "a secret of the tests";

export const cookies = new Hono()
  .get("/", (c) => c.json(getCookie(c)))
  .get("/set", (c) => {
    setCookie(c, "plain", "a value; with=signs");
    setCookie(c, "full", "1", {
      path: "/cookies",
      domain: "example.test",
      secure: true,
      httpOnly: true,
      maxAge: 1000,
      expires: new Date(Date.now() + 86_400_000),
      sameSite: "Strict",
      partitioned: true,
      priority: "High",
    });
    setCookie(c, "host", "2", { prefix: "host", secure: true });
    return c.text(generateCookie("generated", "3", { path: "/" }));
  })
  .get("/sign", async (c) => {
    await setSignedCookie(c, "signed", "who I am", SECRET);
    return c.text("signed");
  })
  .get("/signed", async (c) => c.json((await getSignedCookie(c, SECRET, "signed")) ?? null))
  .get("/delete", (c) => c.json(deleteCookie(c, "plain", { path: "/" }) ?? null));
