// What an object offers, without calling any of it: names, kinds and flags, for the areas that compare whole surfaces.

const kindOf = (value) => (value === null ? "null" : typeof value);
const text = (key) => (typeof key === "symbol" ? `@@${key.description.replace("Symbol.", "")}` : key);

/** Well-known symbols are part of an API; a runtime's own symbols are not reachable by name. */
const wellKnown = new Set(
  Reflect.ownKeys(Symbol)
    .map((key) => Symbol[key])
    .filter((value) => typeof value === "symbol"),
);

function keysOf(object) {
  return Reflect.ownKeys(object).filter((key) => typeof key === "string" || wellKnown.has(key));
}

/** The names of the own properties, sorted. */
export function names(object) {
  return keysOf(object).map(text).sort();
}

/** One own property: its kind and which of the flags w(ritable), e(numerable) and c(onfigurable) are set. */
export function property(object, key) {
  const found = Object.getOwnPropertyDescriptor(object, key);
  if (!found) return "absent";
  const accessor = [found.get && "get", found.set && "set"].filter(Boolean).join(" ");
  const kind = accessor || kindOf(found.value);
  return `${kind} ${found.writable ? "w" : "-"}${found.enumerable ? "e" : "-"}${found.configurable ? "c" : "-"}`;
}

/** What every function or class has, with flags that are a matter of how the runtime makes them. One case compares those. */
const USUAL = ["length", "name", "prototype", "constructor"];

/** Every property of an object and its prototypes (`Object.prototype` apart) with kind and flags, but for the usual ones. */
export function properties(object) {
  return members(object)
    .filter((name) => !name.startsWith("@@") && !USUAL.includes(name))
    .map((name) => `${name}: ${property(holder(object, name), name)}`);
}

/** Is it something to construct or to compare `instanceof` with? */
export const isClass = (value) => typeof value === "function" && typeof value.prototype === "object" && /^[A-Z]/.test(value.name);

/** A class from outside: name, tag, the class of the prototype's prototype. */
function identity(Class) {
  const parent = Object.getPrototypeOf(Class.prototype);
  return { name: Class.name, tag: Class.prototype[Symbol.toStringTag], parent: parent && parent.constructor.name };
}

/**
 * Cases for every name of the global scope that workerd has, and one for those that it has not. `recorded` knows what workerd has;
 * without a recording it is whatever the runtime has.
 */
export function globals(test, recorded) {
  const prefix = "global: ";
  const mine = members(globalThis).filter((name) => !name.startsWith("@@") && name !== "constructor");
  const known = Object.keys(recorded)
    .filter((name) => name.startsWith(prefix))
    .map((name) => name.slice(prefix.length));
  const classes = known.filter((name) => `class: ${name}` in recorded);
  const of = (name, look) => (globalThis[name] === undefined ? "absent" : look(globalThis[name]));
  const each = (list, look) => list.map((name) => `${name}: ${of(name, look)}`);

  test("no global that workerd has not", () => mine.filter((name) => !known.includes(name)), []);
  test("own properties of the global object", () => names(globalThis));
  test("flags of the globals", () => known.map((name) => `${name}: ${property(holder(globalThis, name), name)}`));
  test("lengths of the classes", () => each(classes, (Class) => Class.length));
  test("parents of the classes", () => each(classes, (Class) => Object.getPrototypeOf(Class).name));
  test("flags of the classes' prototypes and tags", () =>
    each(classes, (Class) => `${property(Class, "prototype")}, ${property(Class.prototype, Symbol.toStringTag)}`));
  for (const name of new Set([...known, ...mine])) {
    const value = globalThis[name];
    test(`${prefix}${name}`, () => kindOf(globalThis[name]));
    if (isClass(value) || classes.includes(name)) {
      test(`class: ${name}`, () => of(name, identity));
      // Its prototype is that of the global object.
      if (name === "ServiceWorkerGlobalScope") continue;
      test(`static names: ${name}`, () => of(name, names));
      test(`static properties: ${name}`, () =>
        of(name, (Class) =>
          names(Class)
            .filter((each) => !USUAL.includes(each))
            .map((each) => `${each}: ${property(Class, each)}`),
        ));
      test(`prototype names: ${name}`, () => of(name, (Class) => members(Class.prototype)));
      test(`prototype properties: ${name}`, () => of(name, (Class) => properties(Class.prototype)));
    } else if ((kindOf(value) === "object" && !["globalThis", "self"].includes(name)) || `members: ${name}` in recorded) {
      test(`members: ${name}`, () => of(name, members));
    }
  }
}

/** Where on its prototype chain an object has a property; itself when nowhere. */
function holder(object, key) {
  for (let at = object; at; at = Object.getPrototypeOf(at)) if (Object.hasOwn(at, key)) return at;
  return object;
}

/** The names that an object has from itself and from its prototypes, `Object.prototype` apart. */
export function members(object) {
  const all = new Set();
  for (let at = object; at && (at === object || at !== Object.prototype); at = Object.getPrototypeOf(at))
    for (const name of names(at)) all.add(name);
  return [...all].sort();
}
