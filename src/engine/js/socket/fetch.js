// `fetch` of a WebSocket: a request with `Upgrade: websocket` gives a response whose `webSocket` is the connection.

import { core } from "ext:core/mod.js";
import { op_socket_close, op_socket_hang_up, op_socket_next, op_socket_send_binary, op_socket_send_text } from "ext:core/ops";
import { WebSocket as Client } from "ext:deno_websocket/01_websocket.js";
import { LOST_CODE, NO_CODE } from "ext:celld_socket/close.js";
import { setSocket } from "ext:celld_socket/response.js";
import { makeEnds } from "ext:celld_socket/websocket.js";

const { fetch: fetchHttp } = core.loadExtScript("ext:deno_fetch/26_fetch.js");
const { Headers } = core.loadExtScript("ext:deno_fetch/20_headers.js");
const { Request, toInnerRequest } = core.loadExtScript("ext:deno_fetch/23_request.js");
const { fromInnerResponse, newInnerResponse } = core.loadExtScript("ext:deno_fetch/23_response.js");

/** Headers that the handshake sets itself. */
const HANDSHAKE = new Set([
  "connection",
  "host",
  "sec-websocket-extensions",
  "sec-websocket-key",
  "sec-websocket-protocol",
  "sec-websocket-version",
  "upgrade",
]);

function asksForSocket(input, init) {
  const given = init?.headers ?? (input instanceof Request ? input.headers : undefined);
  if (given === undefined) return false;
  const headers = given instanceof Headers ? given : new Headers(given);
  return headers.get("upgrade")?.toLowerCase() === "websocket";
}

/** What a caller that may have unproven writes waits for, set by js/events: `gate()` is null or a promise. */
let output = { gate: () => null, gateBody() {} };

function setOutput(value) {
  output = value;
}

/** A promise of when the caller may say something to the outside, or null: at once. */
function outputGate() {
  return output.gate();
}

function fetch(input, init = undefined) {
  const isForSocket = arguments.length > 0 && asksForSocket(input, init);
  // Not `input.body`: it would make a stream of a body whose length is known.
  const hasBody = init?.body != null || (input instanceof Request && toInnerRequest(input).body !== null);
  const gate = output.gate();
  if (gate === null && !hasBody && !isForSocket) return fetchHttp(...arguments);
  let request;
  try {
    request = new Request(...arguments);
  } catch (error) {
    return Promise.reject(error);
  }
  output.gateBody(toInnerRequest(request).body);
  const send = isForSocket ? fetchSocket : fetchHttp;
  return gate === null ? send(request) : gate.then(() => send(request));
}

/** Moves what the near side sends to the connection. */
async function forward(near, client) {
  for (;;) {
    const said = await op_socket_next(near);
    if (typeof said === "string" || core.isAnyArrayBuffer(said)) {
      if (client.readyState === Client.OPEN) client.send(said);
    } else {
      // Codes that a client may not send stand for "no code".
      const [code, reason] = Array.isArray(said) ? said : [NO_CODE, ""];
      if (code === 1000 || code >= 3000) client.close(code, reason);
      else client.close();
      return;
    }
  }
}

function fetchSocket(request) {
  const headers = [...request.headers].filter(([name]) => !HANDSHAKE.has(name));
  const protocols = request.headers.get("sec-websocket-protocol")?.split(",").map((protocol) => protocol.trim()) ?? [];
  return new Promise((resolve, reject) => {
    const client = new Client(request.url, { headers, protocols });
    client.binaryType = "arraybuffer";
    let near = null;
    client.onopen = () => {
      const [socket, end] = makeEnds();
      near = end;
      const inner = newInnerResponse(101, "Switching Protocols");
      inner.headerList = [["connection", "Upgrade"], ["upgrade", "websocket"]];
      if (client.protocol !== "") inner.headerList.push(["sec-websocket-protocol", client.protocol]);
      const response = fromInnerResponse(inner, "immutable");
      setSocket(response, socket);
      resolve(response);
      forward(near, client);
    };
    client.onmessage = ({ data }) => {
      if (typeof data === "string") op_socket_send_text(near, data);
      else op_socket_send_binary(near, new Uint8Array(data));
    };
    client.onclose = ({ code, reason, wasClean }) => {
      if (near === null) return;
      if (wasClean && code !== LOST_CODE) op_socket_close(near, code, reason);
      op_socket_hang_up(near);
    };
    client.onerror = ({ message }) => {
      reject(new TypeError(`The WebSocket connection to ${request.url} failed: ${message}`));
    };
    request.signal?.addEventListener("abort", () => {
      client.close();
      reject(request.signal.reason);
    });
  });
}

Object.defineProperty(fetch, "length", { value: 0, configurable: true });

export { fetch, outputGate, setOutput };
