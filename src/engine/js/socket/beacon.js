// `navigator.sendBeacon`: a request whose answer nobody waits for.

import { fetch } from "ext:celld_socket/fetch.js";

const { sendBeacon } = {
  sendBeacon(url, body = undefined) {
    fetch(url, { method: "POST", body }).then((response) => response.body?.cancel(), () => {});
    return true;
  },
};

Object.defineProperty(Object.getPrototypeOf(navigator), "sendBeacon", {
  __proto__: null,
  value: sendBeacon,
  writable: true,
  enumerable: true,
  configurable: true,
});
