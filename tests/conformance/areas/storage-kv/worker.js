import { cells } from "./cell.js";
import { suite, threw } from "./suite.js";

const { test, handler } = suite();
export default handler;
const { Cell, inside } = cells(test);
export { Cell };

inside("get of what is absent", ({ storage: { kv } }) => kv.get("a"), undefined);
inside("put and get", ({ storage: { kv } }) => [kv.put("a", { b: [1] }), kv.get("a")], [undefined, { b: [1] }]);
inside(
  "shares the keys with the asynchronous API",
  async ({ storage }) => {
    storage.kv.put("a", 1);
    await storage.put("b", 2);
    return [await storage.get("a"), storage.kv.get("b")];
  },
  [1, 2],
);
inside(
  "delete",
  ({ storage: { kv } }) => {
    kv.put("a", 1);
    return [kv.delete("a"), kv.delete("a")];
  },
  [true, false],
);
const fill = (kv) => ["a", "ab", "b", "ba", "c"].forEach((key) => kv.put(key, key));
const listed =
  (options) =>
  ({ storage: { kv } }) => {
    fill(kv);
    return [...kv.list(options)].map(([key]) => key);
  };
inside("list", listed(), ["a", "ab", "b", "ba", "c"]);
inside(
  "list: entries",
  ({ storage: { kv } }) => {
    kv.put("a", 1);
    return [...kv.list()];
  },
  [["a", 1]],
);
inside("list: prefix", listed({ prefix: "a" }), ["a", "ab"]);
inside("list: start, end", listed({ start: "ab", end: "c" }), ["ab", "b", "ba"]);
inside("list: startAfter", listed({ startAfter: "b" }), ["ba", "c"]);
inside("list: reverse, limit", listed({ reverse: true, limit: 2 }), ["c", "ba"]);
inside(
  "list: is an iterator",
  ({ storage: { kv } }) => {
    const list = kv.list();
    return [typeof list.next, list[Symbol.iterator]() === list, list.next()];
  },
  ["function", true, { done: true, value: undefined }],
);
inside("put of undefined", ({ storage: { kv } }) => kv.put("a", undefined), undefined);
inside(
  "put of a function",
  ({ storage: { kv } }) => kv.put("a", () => {}),
  threw("DOMException", "() => {} could not be cloned.", "DataCloneError"),
);
inside("get of many", ({ storage: { kv } }) => kv.get(["a", "b"]), undefined);
inside("key: 2049 bytes", ({ storage: { kv } }) => kv.put("k".repeat(2049), 1), undefined);
inside("value: 3 MB", ({ storage: { kv } }) => kv.put("a", new Uint8Array(3_000_000)), undefined);
inside(
  "rolls back with a transaction",
  ({ storage }) => {
    storage.kv.put("a", 1);
    try {
      storage.transactionSync(() => {
        storage.kv.put("a", 2);
        throw new Error("boom");
      });
    } catch {}
    return storage.kv.get("a");
  },
  1,
);
inside(
  "put while listing",
  ({ storage: { kv } }) => {
    fill(kv);
    const seen = [];
    for (const [key] of kv.list()) {
      seen.push(key);
      if (key === "a") kv.delete("b");
    }
    return seen;
  },
  ["a", "ab", "ba", "c"],
);
