import { cells } from "./cell.js";
import { caught, suite, threw } from "./suite.js";

const { test, handler } = suite();
export default handler;
const { Cell, inside } = cells(test);
export { Cell };

const fill = (storage, ...keys) => Promise.all(keys.map((key) => storage.put(key, key.toUpperCase())));

inside("get of what is absent", ({ storage }) => storage.get("a"), undefined);
inside("put and get", async ({ storage }) => [await storage.put("a", { b: 1 }), await storage.get("a")], [undefined, { b: 1 }]);
inside(
  "put replaces",
  async ({ storage }) => {
    await storage.put("a", 1);
    await storage.put("a", 2);
    return storage.get("a");
  },
  2,
);
inside("put of undefined", ({ storage }) => storage.put("a", undefined), threw("TypeError", "put() called with undefined value."));
inside("put without a value", ({ storage }) => storage.put("a"), threw("TypeError", "put() called with undefined value."));
inside(
  "put of a function",
  ({ storage }) => storage.put("a", () => {}),
  threw("DOMException", "() => {} could not be cloned.", "DataCloneError"),
);
inside(
  "put of a symbol",
  ({ storage }) => storage.put("a", Symbol("x")),
  threw("DOMException", "Symbol(x) could not be cloned.", "DataCloneError"),
);
inside(
  "put of many",
  async ({ storage }) => {
    await storage.put({ a: 1, b: 2 });
    return [await storage.get("a"), await storage.get("b")];
  },
  [1, 2],
);
inside(
  "put of many with an undefined value",
  async ({ storage }) => {
    await storage.put({ a: 1, b: undefined });
    return [...(await storage.list()).keys()];
  },
  ["a"],
);
const values = {
  null: null,
  text: "é",
  BigInt: 5n,
  NaN,
  date: new Date(0),
  map: new Map([[1, { a: 2 }]]),
  set: new Set([1]),
  regexp: /a/g,
  bytes: new Uint8Array([1, 2]),
  buffer: new Uint8Array([3]).buffer,
  error: undefined,
  array: [1, [2]],
};
for (const [name, value] of Object.entries(values)) {
  if (value === undefined) continue;
  inside(
    `value: ${name}`,
    async ({ storage }) => {
      await storage.put("a", value);
      return storage.get("a");
    },
    value,
  );
}
inside(
  "value: an Error",
  async ({ storage }) => {
    await storage.put("a", new RangeError("boom"));
    const { name, message } = await storage.get("a");
    return [name, message];
  },
  ["RangeError", "boom"],
);
inside(
  "value: a copy each time",
  async ({ storage }) => {
    const object = { a: 1 };
    await storage.put("a", object);
    object.a = 2;
    const first = await storage.get("a");
    const second = await storage.get("a");
    return [first.a, first === second];
  },
  [1, false],
);
inside(
  "value: a class instance",
  async ({ storage }) => {
    class Point {
      x = 1;
    }
    await storage.put("a", new Point());
    return (await storage.get("a")).constructor === Object;
  },
  true,
);
inside(
  "get of many",
  async ({ storage }) => {
    await fill(storage, "a", "b", "c");
    return storage.get(["c", "a", "x"]);
  },
  new Map([
    ["a", "A"],
    ["c", "C"],
  ]),
);
inside("get of none", ({ storage }) => storage.get([]), new Map());
inside(
  "delete",
  async ({ storage }) => {
    await fill(storage, "a");
    return [await storage.delete("a"), await storage.delete("a"), await storage.get("a")];
  },
  [true, false, undefined],
);
inside(
  "delete of many",
  async ({ storage }) => {
    await fill(storage, "a", "b", "c");
    return [await storage.delete(["a", "b", "x"]), [...(await storage.list()).keys()]];
  },
  [2, ["c"]],
);
inside(
  "list",
  async ({ storage }) => {
    await fill(storage, "b", "a", "c");
    return storage.list();
  },
  new Map([
    ["a", "A"],
    ["b", "B"],
    ["c", "C"],
  ]),
);
inside(
  "list: the order is by bytes",
  async ({ storage }) => {
    await fill(storage, "b", "B", "é", "z", "10", "9", "😀", "\uffff");
    return [...(await storage.list()).keys()];
  },
  ["10", "9", "B", "b", "z", "é", "￿", "😀"],
);
const listed =
  (options) =>
  async ({ storage }) => {
    await fill(storage, "a", "ab", "b", "ba", "c");
    return [...(await storage.list(options)).keys()];
  };
inside("list: prefix", listed({ prefix: "b" }), ["b", "ba"]);
inside("list: start", listed({ start: "b" }), ["b", "ba", "c"]);
inside("list: startAfter", listed({ startAfter: "b" }), ["ba", "c"]);
inside("list: end", listed({ end: "b" }), ["a", "ab"]);
inside("list: start and end", listed({ start: "ab", end: "ba" }), ["ab", "b"]);
inside("list: limit", listed({ limit: 2 }), ["a", "ab"]);
inside("list: reverse", listed({ reverse: true }), ["c", "ba", "b", "ab", "a"]);
inside("list: reverse with limit", listed({ reverse: true, limit: 2 }), ["c", "ba"]);
inside("list: reverse with start and end", listed({ reverse: true, start: "ab", end: "c" }), ["ba", "b", "ab"]);
inside("list: prefix and start", listed({ prefix: "b", start: "ba" }), ["ba"]);
inside("list: end before start", listed({ start: "c", end: "a" }), []);
inside("list: limit 0", listed({ limit: 0 }), threw("TypeError", "List limit must be positive."));
inside("list: a negative limit", listed({ limit: -1 }), threw("TypeError", "List limit must be positive."));
inside(
  "list: start and startAfter",
  listed({ start: "a", startAfter: "b" }),
  threw("TypeError", "list() cannot be called with both start and startAfter values."),
);
inside("list: nothing", ({ storage }) => storage.list(), new Map());
inside("list: an empty prefix", listed({ prefix: "" }), ["a", "ab", "b", "ba", "c"]);
inside(
  "list: of a string",
  ({ storage }) => storage.list("a"),
  threw("TypeError", "Failed to execute 'list' on 'DurableObjectStorage': parameter 1 is not of type 'ListOptions'."),
);
inside(
  "deleteAll",
  async ({ storage }) => {
    await fill(storage, "a", "b");
    return [await storage.deleteAll(), (await storage.list()).size];
  },
  [undefined, 0],
);
inside("key: empty", ({ storage }) => storage.put("", 1).then(() => storage.get("")), 1);
inside(
  "key: a number",
  async ({ storage }) => {
    await storage.put(5, 1);
    return [...(await storage.list()).keys()];
  },
  ["5"],
);
inside("key: 2048 bytes", ({ storage }) => storage.put("k".repeat(2048), 1), undefined);
inside("key: 2049 bytes", ({ storage }) => storage.put("k".repeat(2049), 1), undefined);
inside("key: 2049 bytes, get", ({ storage }) => storage.get("k".repeat(2049)), undefined);
inside("key: 2049 bytes, delete", ({ storage }) => storage.delete("k".repeat(2049)), false);
inside(
  "value: 1 MB",
  async ({ storage }) => {
    await storage.put("a", new Uint8Array(1_000_000));
    return (await storage.get("a")).length;
  },
  1_000_000,
);
inside("value: 3 MB", ({ storage }) => storage.put("a", new Uint8Array(3_000_000)), undefined);
const many = (count) => Array.from({ length: count }, (_, i) => `k${i}`);
inside(
  "128 keys",
  async ({ storage }) => {
    await storage.put(Object.fromEntries(many(128).map((key) => [key, 1])));
    return [(await storage.get(many(128))).size, await storage.delete(many(128))];
  },
  [128, 128],
);
inside("129 keys: put", ({ storage }) => storage.put(Object.fromEntries(many(129).map((key) => [key, 1]))), undefined);
inside("129 keys: get", async ({ storage }) => (await storage.get(many(129))).size, 0);
inside("129 keys: delete", ({ storage }) => storage.delete(many(129)), 0);
inside(
  "get without a key",
  ({ storage }) => storage.get(),
  threw("TypeError", "Failed to execute 'get' on 'DurableObjectStorage': parameter 1 is not of type 'string or Array'."),
);
inside("get of an object", ({ storage }) => storage.get({}), undefined);
inside(
  "options are accepted",
  async ({ storage }) => {
    await storage.put("a", 1, { allowUnconfirmed: true, noCache: true, allowConcurrency: true });
    return [
      await storage.get("a", { allowConcurrency: true, noCache: true }),
      await storage.delete("a", { allowUnconfirmed: true, noCache: true }),
    ];
  },
  [1, true],
);
inside("sync", ({ storage }) => storage.sync(), undefined);

inside(
  "transaction: commit",
  async ({ storage }) => {
    const result = await storage.transaction(async (txn) => {
      await txn.put("a", 1);
      return txn.get("a");
    });
    return [result, await storage.get("a")];
  },
  [1, 1],
);
inside(
  "transaction: an exception rolls back",
  async ({ storage }) => {
    await storage.put("a", 1);
    const error = await caught(() =>
      storage.transaction(async (txn) => {
        await txn.put("a", 2);
        throw new RangeError("boom");
      }),
    );
    return [error.message, await storage.get("a")];
  },
  ["boom", 1],
);
inside(
  "transaction: rollback",
  async ({ storage }) => {
    await storage.put("a", 1);
    const result = await storage.transaction(async (txn) => {
      await txn.put("a", 2);
      txn.rollback();
      return "result";
    });
    return [result, await storage.get("a")];
  },
  ["result", 1],
);
inside(
  "transaction: use after rollback",
  ({ storage }) =>
    storage.transaction(async (txn) => {
      txn.rollback();
      await txn.put("a", 1);
    }),
  threw("Error", "Cannot put() on rolled back transaction"),
);
inside(
  "transaction: use after the end",
  async ({ storage }) => {
    let kept;
    await storage.transaction(async (txn) => {
      kept = txn;
    });
    return kept.get("a");
  },
  threw("Error", "Cannot call get() on transaction that has already committed: did you move `txn` outside of the closure?"),
);
inside("transaction: not async", ({ storage }) => storage.transaction(() => 5), 5);
inside(
  "transaction: list and delete",
  ({ storage }) =>
    storage.transaction(async (txn) => {
      await txn.put({ a: 1, b: 2 });
      await txn.delete("a");
      return [...(await txn.list()).keys()];
    }),
  ["b"],
);
inside(
  "transaction: nested",
  async ({ storage }) => {
    await storage.transaction(async (txn) => {
      await txn.put("a", 1);
      await storage.transaction(async (inner) => inner.put("b", 2));
    });
    return [...(await storage.list()).keys()];
  },
  ["a", "b"],
);
inside(
  "transaction: deleteAll",
  ({ storage }) => storage.transaction((txn) => txn.deleteAll()),
  threw("Error", "Cannot call deleteAll() within a transaction"),
);
inside(
  "transaction: members",
  ({ storage }) =>
    storage.transaction((txn) =>
      ["get", "put", "delete", "list", "rollback", "getAlarm", "setAlarm", "deleteAlarm", "deleteAll", "sql"].map(
        (name) => `${name} ${typeof txn[name]}`,
      ),
    ),
  [
    "get function",
    "put function",
    "delete function",
    "list function",
    "rollback function",
    "getAlarm function",
    "setAlarm function",
    "deleteAlarm function",
    "deleteAll function",
    "sql undefined",
  ],
);
inside(
  "transactionSync",
  async ({ storage }) => {
    const result = storage.transactionSync(() => {
      storage.sql.exec("CREATE TABLE t (x)");
      storage.sql.exec("INSERT INTO t VALUES (1)");
      return "done";
    });
    return [result, storage.sql.exec("SELECT x FROM t").one()];
  },
  ["done", { x: 1 }],
);
inside(
  "transactionSync: rolls back",
  async ({ storage }) => {
    storage.sql.exec("CREATE TABLE t (x)");
    const error = await caught(() =>
      storage.transactionSync(() => {
        storage.sql.exec("INSERT INTO t VALUES (1)");
        throw new RangeError("boom");
      }),
    );
    return [error.message, storage.sql.exec("SELECT count(*) AS n FROM t").one()];
  },
  ["boom", { n: 0 }],
);
inside(
  "transactionSync: nested",
  ({ storage }) => {
    storage.sql.exec("CREATE TABLE t (x)");
    storage.transactionSync(() => {
      storage.sql.exec("INSERT INTO t VALUES (1)");
      try {
        storage.transactionSync(() => {
          storage.sql.exec("INSERT INTO t VALUES (2)");
          throw new Error("inner");
        });
      } catch {}
    });
    return storage.sql.exec("SELECT x FROM t").toArray();
  },
  [{ x: 1 }],
);
inside("transactionSync: an async function", ({ storage }) => storage.transactionSync(async () => 5), 5);
inside("alarm: none", ({ storage }) => storage.getAlarm(), null);
inside(
  "alarm: of a class without a handler",
  ({ storage }) => storage.setAlarm(Date.now() + 1e6),
  threw("TypeError", "Your Durable Object class must have an alarm() handler in order to call setAlarm()"),
);
inside("bookmarks", async ({ storage }) => typeof (await storage.getCurrentBookmark()), "string");
inside(
  "members of storage",
  ({ storage }) =>
    [
      "get",
      "put",
      "delete",
      "list",
      "deleteAll",
      "transaction",
      "transactionSync",
      "sync",
      "getAlarm",
      "setAlarm",
      "deleteAlarm",
      "sql",
      "kv",
      "getCurrentBookmark",
      "getBookmarkForTime",
      "onNextSessionRestoreBookmark",
      "waitForBookmark",
      "ensureReplicas",
      "disableReplicas",
      "primary",
    ].map((name) => `${name} ${typeof storage[name]}`),
  [
    "get function",
    "put function",
    "delete function",
    "list function",
    "deleteAll function",
    "transaction function",
    "transactionSync function",
    "sync function",
    "getAlarm function",
    "setAlarm function",
    "deleteAlarm function",
    "sql object",
    "kv object",
    "getCurrentBookmark function",
    "getBookmarkForTime function",
    "onNextSessionRestoreBookmark function",
    "waitForBookmark undefined",
    "ensureReplicas undefined",
    "disableReplicas undefined",
    "primary undefined",
  ],
);
inside(
  "members of the state",
  (state) =>
    [
      "id",
      "storage",
      "waitUntil",
      "blockConcurrencyWhile",
      "acceptWebSocket",
      "getWebSockets",
      "setWebSocketAutoResponse",
      "getWebSocketAutoResponse",
      "getWebSocketAutoResponseTimestamp",
      "setHibernatableWebSocketEventTimeout",
      "getHibernatableWebSocketEventTimeout",
      "getTags",
      "abort",
      "exports",
      "props",
      "container",
      "facets",
      "version",
    ].map((name) => `${name} ${typeof state[name]}`),
  [
    "id object",
    "storage object",
    "waitUntil function",
    "blockConcurrencyWhile function",
    "acceptWebSocket function",
    "getWebSockets function",
    "setWebSocketAutoResponse function",
    "getWebSocketAutoResponse function",
    "getWebSocketAutoResponseTimestamp function",
    "setHibernatableWebSocketEventTimeout function",
    "getHibernatableWebSocketEventTimeout function",
    "getTags function",
    "abort function",
    "exports object",
    "props object",
    "container undefined",
    "facets object",
    "version undefined",
  ],
);
inside(
  "tags",
  (state) => [state, state.storage, state.id, state.storage.sql, state.storage.kv].map((each) => Object.prototype.toString.call(each)),
  [
    "[object DurableObjectState]",
    "[object DurableObjectStorage]",
    "[object DurableObjectId]",
    "[object SqlStorage]",
    "[object SyncKvStorage]",
  ],
);
