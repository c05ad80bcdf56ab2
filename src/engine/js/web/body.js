// `Body`: what `Request` and `Response` have in common. Deno gives each a copy of the members.

import { core, primordials } from "ext:core/mod.js";

const { ObjectPrototypeIsPrototypeOf, uncurryThis } = primordials;

const { Request } = core.loadExtScript("ext:deno_fetch/23_request.js");
const { Response } = core.loadExtScript("ext:deno_fetch/23_response.js");

class Body {
  constructor() {
    throw new TypeError("Illegal constructor");
  }
}

const METHODS = ["arrayBuffer", "blob", "bytes", "formData", "json", "text"];
const ATTRIBUTES = ["body", "bodyUsed"];
const requestPrototype = Request.prototype;
const responsePrototype = Response.prototype;

function moveMember(name, describe) {
  const members = [requestPrototype, responsePrototype].map((prototype) => {
    const { value, get } = Object.getOwnPropertyDescriptor(prototype, name);
    delete prototype[name];
    return uncurryThis(value ?? get);
  });
  Object.defineProperty(Body.prototype, name, { __proto__: null, enumerable: true, configurable: true, ...describe(members) });
}

for (const name of METHODS) {
  moveMember(name, ([ofRequest, ofResponse]) => {
    const { [name]: value } = {
      [name]() {
        return ObjectPrototypeIsPrototypeOf(requestPrototype, this) ? ofRequest(this) : ofResponse(this);
      },
    };
    return { value, writable: true };
  });
}
for (const name of ATTRIBUTES) {
  moveMember(name, ([ofRequest, ofResponse]) => ({
    get() {
      return ObjectPrototypeIsPrototypeOf(requestPrototype, this) ? ofRequest(this) : ofResponse(this);
    },
  }));
}
Object.defineProperty(Body.prototype, Symbol.toStringTag, { value: "Body", configurable: true });
for (const Class of [Request, Response]) {
  delete Class.prototype.textStream;
  Object.setPrototypeOf(Class.prototype, Body.prototype);
  Object.setPrototypeOf(Class, Body);
}

export { Body };
