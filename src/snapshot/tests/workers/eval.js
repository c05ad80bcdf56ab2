import { equal, fails } from "./assert.js";

const AsyncFunction = (async () => {}).constructor;
const GeneratorFunction = (function* () {}).constructor;
const attempts = {
  "direct eval": () => eval("1"),
  "indirect eval": () => (0, eval)("1"),
  "new Function": () => new Function("return 1"),
  "Function": () => Function("return 1"),
  "AsyncFunction": () => new AsyncFunction("return 1"),
  "GeneratorFunction": () => new GeneratorFunction("yield 1"),
  "Reflect.construct": () => Reflect.construct(Function, ["return 1"]),
  "in a microtask": () => Promise.resolve("1").then(eval),
  "in a timer": () => new Promise((resolve, reject) => setTimeout(() => {
    try {
      resolve(new Function("return 1")());
    } catch (error) {
      reject(error);
    }
  }, 0)),
};
for (const [name, attempt] of Object.entries(attempts)) {
  const error = await fails(attempt, name);
  equal(error.name, "EvalError", name);
}
for (const timer of [setTimeout, setInterval]) {
  equal((await fails(() => timer("globalThis.ran = true"))).name, "TypeError");
}
await new Promise((resolve) => setTimeout(resolve, 5));
equal(globalThis.ran, undefined);
