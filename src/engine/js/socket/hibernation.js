// The hibernation API of a Durable Object's `ctx`: sockets that the cell leaves with its shard. Everything that must survive the
// instance is in the host; here are only the objects that the instance has seen.

import {
  op_cell_auto_response,
  op_cell_forget_socket,
  op_cell_park_socket,
  op_cell_parked_socket,
  op_cell_parked_sockets,
  op_cell_set_auto_response,
  op_cell_set_socket_timeout,
  op_cell_socket_timeout,
  op_socket_answered,
  op_socket_tags,
} from "ext:core/ops";
import { isAutoResponse, WebSocketRequestResponsePair } from "ext:celld_socket/auto_response.js";
import { isWebSocket, native, parkSocket, releaseSocket, unparkSocket } from "ext:celld_socket/websocket.js";
import { LOST_CODE, LOST_REASON, NO_CODE } from "ext:celld_socket/close.js";
import { core } from "ext:core/mod.js";

const MAX_TAGS = 10;
const MAX_TAG_LENGTH = 256;
const MAX_AUTO_BYTES = 2048;
/** Seven days, in milliseconds. */
const MAX_TIMEOUT = 604800000;

function wrongType(method, number, type) {
  return new TypeError(`Failed to execute '${method}' on 'DurableObjectState': parameter ${number} is not of type '${type}'.`);
}

function requireSocket(method, socket) {
  if (!isWebSocket(socket)) throw wrongType(method, 1, "WebSocket");
}

function checkTags(tags) {
  if (tags === undefined || tags === null) return [];
  if (!Array.isArray(tags)) throw wrongType("acceptWebSocket", 2, "Array");
  const distinct = [...new Set(tags.map(String))];
  if (distinct.length > MAX_TAGS) throw new Error(`a Hibernatable WebSocket cannot have more than ${MAX_TAGS} tags`);
  for (const tag of distinct) {
    if (tag.length > MAX_TAG_LENGTH) {
      throw new Error(`"${tag}" is longer than the max tag length (${MAX_TAG_LENGTH} characters).`);
    }
  }
  return distinct;
}

/** The parked sockets of one instance. */
class ParkedSockets {
  #handle;
  #name;
  #owner;
  /** The objects that the instance has seen, by number. */
  #objects = new Map();

  constructor(handle, name, owner) {
    this.#handle = handle;
    this.#name = name;
    this.#owner = owner;
  }

  accept(socket, tags) {
    requireSocket("acceptWebSocket", socket);
    const checked = checkTags(tags);
    const park = (object) => op_cell_park_socket(this.#handle, object, checked, this.#name ?? null);
    this.#objects.set(parkSocket(socket, this.#owner, park), socket);
  }

  /** The object of a socket; a new one if the instance has not seen it yet. */
  get(id) {
    let socket = this.#objects.get(id);
    if (socket === undefined) {
      socket = unparkSocket(op_cell_parked_socket(this.#handle, id), this.#owner, id);
      this.#objects.set(id, socket);
    }
    return socket;
  }

  list(tag) {
    const ids = op_cell_parked_sockets(this.#handle, tag === undefined || tag === null ? null : String(tag));
    return ids.map((id) => this.get(id));
  }

  tags(socket) {
    requireSocket("getTags", socket);
    const object = native(socket);
    const tags = object === null ? null : op_socket_tags(object);
    if (tags === null) {
      throw new Error("you must call 'acceptWebSocket()' before attempting to access the tags of a WebSocket.");
    }
    return tags;
  }

  setAutoResponse(pair) {
    if (pair === undefined || pair === null) {
      op_cell_set_auto_response(this.#handle, null, null);
      return;
    }
    if (!isAutoResponse(pair)) throw wrongType("setWebSocketAutoResponse", 1, "WebSocketRequestResponsePair");
    for (const [what, text] of [["request", pair.request], ["response", pair.response]]) {
      const size = core.byteLength(text);
      if (size > MAX_AUTO_BYTES) {
        const name = what === "request" ? "Request" : "Response";
        throw new RangeError(`${name} cannot be larger than ${MAX_AUTO_BYTES} bytes. A ${what} of size ${size} was provided.`);
      }
    }
    op_cell_set_auto_response(this.#handle, pair.request, pair.response);
  }

  autoResponse() {
    const pair = op_cell_auto_response(this.#handle);
    return pair === null ? null : new WebSocketRequestResponsePair(pair[0], pair[1]);
  }

  answered(socket) {
    requireSocket("getWebSocketAutoResponseTimestamp", socket);
    const object = native(socket);
    const time = object === null ? -1 : op_socket_answered(object);
    return time < 0 ? null : new Date(time);
  }

  setTimeout(ms) {
    if (ms === undefined || ms === null) {
      op_cell_set_socket_timeout(this.#handle, -1);
      return;
    }
    const number = Math.trunc(Number(ms)) || 0;
    if (number < 0) {
      throw new TypeError("The value cannot be converted because it is negative and this API expects a positive number.");
    }
    if (number > MAX_TIMEOUT) throw new Error(`Event timeout should not exceed ${MAX_TIMEOUT} ms.`);
    op_cell_set_socket_timeout(this.#handle, number);
  }

  timeout() {
    const ms = op_cell_socket_timeout(this.#handle);
    return ms < 0 ? null : ms;
  }

  /**
   * Calls the handler of the class for what a socket said (as `op_socket_next` resolves) and returns its result.
   * `finished()` must be called when that has settled.
   */
  handle(instance, id, said) {
    const socket = this.get(id);
    if (typeof said === "string" || core.isAnyArrayBuffer(said)) {
      return { result: instance.webSocketMessage?.(socket, said), finished() {} };
    }
    let code = NO_CODE;
    let reason = "";
    let result;
    const finished = () => {
      releaseSocket(socket, code, reason);
      this.#objects.delete(id);
      op_cell_forget_socket(this.#handle, id);
    };
    try {
      if (Array.isArray(said)) {
        [code, reason] = said;
        result = instance.webSocketClose?.(socket, code, reason, true);
      } else if (said === null) {
        result = instance.webSocketClose?.(socket, LOST_CODE, LOST_REASON, false);
      } else {
        result = instance.webSocketError?.(socket, said);
      }
    } catch (error) {
      finished();
      throw error;
    }
    return { result, finished };
  }
}

export { ParkedSockets };
