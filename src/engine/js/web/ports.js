// `MessagePort` without what the platform has not: a list of transferred objects. A listener starts the port.

import { core } from "ext:core/mod.js";

const { MessagePort } = core.loadExtScript("ext:deno_web/13_message_port.js");

const { addEventListener, postMessage, start } = MessagePort.prototype;

const methods = {
  addEventListener(type, ...rest) {
    Reflect.apply(addEventListener, this, [type, ...rest]);
    if (type === "message") start.call(this);
  },
  postMessage(message, options = undefined) {
    const transfer = options?.transfer ?? options;
    if (Array.isArray(transfer) && transfer.length > 0) throw new Error("Transfer list is not supported");
    postMessage.call(this, message);
  },
};

for (const name of Object.keys(methods)) {
  Object.defineProperty(MessagePort.prototype, name, {
    __proto__: null,
    value: methods[name],
    writable: true,
    enumerable: true,
    configurable: true,
  });
}
