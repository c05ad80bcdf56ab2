// `new WebSocket(url)`: Deno's client behind the platform's interface.

import { core } from "ext:core/mod.js";
import { WebSocket as Client } from "ext:deno_websocket/01_websocket.js";

const { DOMException } = core.loadExtScript("ext:deno_web/01_dom_exception.js");
const { URL } = core.loadExtScript("ext:deno_web/00_url.js");

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

function syntaxError(message) {
  return new DOMException(`WebSocket Constructor: ${message}`, "SyntaxError");
}

/** The URL of a connection that may be opened. Throws as the platform does. */
function checkUrl(url) {
  let parsed;
  try {
    parsed = new URL(String(url));
  } catch {
    throw syntaxError("The url is invalid.");
  }
  if (parsed.protocol !== "ws:" && parsed.protocol !== "wss:" && parsed.protocol !== "http:" && parsed.protocol !== "https:") {
    throw syntaxError("The url scheme must be ws or wss.");
  }
  if (parsed.hash !== "" || parsed.href.endsWith("#")) throw syntaxError("The url fragment must be empty.");
  return parsed.href;
}

function checkProtocols(protocols) {
  if (protocols === undefined) return [];
  const list = typeof protocols === "string" ? [protocols] : Array.from(protocols, String);
  if (new Set(list).size !== list.length) throw syntaxError("The protocols header cannot have repeating values.");
  if (!list.every((protocol) => TOKEN.test(protocol))) throw syntaxError("The protocol header token is invalid.");
  return list;
}

/** Opens a connection; `sink` has a function for each kind of event, called with Deno's event. */
function connect(url, protocols, sink) {
  const client = new Client(checkUrl(url), checkProtocols(protocols));
  client.binaryType = "arraybuffer";
  client.onopen = sink.open;
  client.onmessage = sink.message;
  client.onclose = sink.close;
  client.onerror = sink.error;
  return client;
}

export { connect };
