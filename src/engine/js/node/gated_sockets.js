// What a cell writes to sockets of node:net, and of what is built on them, waits until its earlier writes are durable.

import { Socket } from "node:net";
import { outputGate } from "ext:celld_socket/fetch.js";

for (const name of ["_write", "_writev", "_final"]) {
  const original = Socket.prototype[name];
  const gated = {
    [name](...args) {
      const gate = outputGate();
      if (gate === null) {
        return Reflect.apply(original, this, args);
      }
      // The last argument is the callback.
      gate.then(() => Reflect.apply(original, this, args), args.at(-1));
    },
  }[name];
  if (original !== undefined) {
    Object.defineProperty(Socket.prototype, name, { value: gated, writable: true, configurable: true });
  }
}
