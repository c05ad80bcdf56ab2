// `ctx` of a Durable Object.

import {
  op_cell_bookmark,
  op_cell_bookmark_at,
  op_cell_check_bookmark,
  op_cell_sync,
  op_report_uncaught,
} from "ext:core/ops";
import { alarmHooks } from "ext:celld_events/alarms.js";
import { begin, blockConcurrencyWhile, end, exclusively, GONE, resetCell } from "ext:celld_events/cell.js";
import { parkedSockets } from "ext:celld_events/sockets.js";
import { keepSilent } from "ext:celld_platform/report.js";
import { createStorage } from "ext:celld_storage/storage.js";

let deletesAlarm = false;

/** Whether `deleteAll` deletes the alarm too, by the compatibility date. */
function setDeletesAlarm(value) {
  deletesAlarm = value;
}

function storageHooks(cell) {
  return {
    deletesAlarm: () => deletesAlarm,
    bookmark: () => op_cell_bookmark(cell.handle),
    bookmarkAt: (time) => op_cell_bookmark_at(cell.handle, time),
    checkBookmark: (bookmark) => op_cell_check_bookmark(cell.handle, bookmark),
    durable: () => op_cell_sync(cell.handle),
    exclusively: (run) => exclusively(cell, run),
    ...alarmHooks(cell),
  };
}

class DurableObjectState {
  #cell;
  #id;
  #storage;
  #props;
  #exports;

  constructor(cell, id, props, exports) {
    this.#cell = cell;
    this.#id = id;
    this.#storage = undefined;
    this.#props = props;
    this.#exports = exports;
  }

  get id() {
    return this.#id;
  }

  get props() {
    return this.#props;
  }

  get exports() {
    return this.#exports;
  }

  get storage() {
    return this.#storage ??= createStorage(this.#cell.handle, storageHooks(this.#cell));
  }

  waitUntil(promise) {
    const cell = this.#cell;
    begin(cell);
    Promise.resolve(promise).then(
      () => end(cell),
      (error) => {
        end(cell);
        op_report_uncaught(error, "waitUntil");
      },
    );
  }

  blockConcurrencyWhile(callback) {
    if (typeof callback !== "function") {
      return Promise.reject(
        new TypeError(
          "Failed to execute 'blockConcurrencyWhile' on 'DurableObjectState': parameter 1 is not of type 'function'.",
        ),
      );
    }
    return blockConcurrencyWhile(this.#cell, callback);
  }

  acceptWebSocket(socket, tags) {
    parkedSockets(this.#cell).accept(socket, tags);
  }

  getWebSockets(tag) {
    return parkedSockets(this.#cell).list(tag);
  }

  getTags(socket) {
    return parkedSockets(this.#cell).tags(socket);
  }

  setWebSocketAutoResponse(pair) {
    parkedSockets(this.#cell).setAutoResponse(pair);
  }

  getWebSocketAutoResponse() {
    return parkedSockets(this.#cell).autoResponse();
  }

  getWebSocketAutoResponseTimestamp(socket) {
    return parkedSockets(this.#cell).answered(socket);
  }

  setHibernatableWebSocketEventTimeout(ms) {
    parkedSockets(this.#cell).setTimeout(ms);
  }

  getHibernatableWebSocketEventTimeout() {
    return parkedSockets(this.#cell).timeout();
  }

  /** Ends the instance at once; whatever it was doing fails with `reason`. */
  abort(reason) {
    const cell = this.#cell;
    // Whoever waits for the object hears the reason as text, as on the platform.
    const error = new Error(reason === undefined ? "Application called abort() to reset Durable Object." : String(reason));
    if (cell.phase !== GONE) resetCell(cell, error);
    keepSilent(error);
    throw error;
  }
}

Object.defineProperty(DurableObjectState.prototype, Symbol.toStringTag, { value: "DurableObjectState", configurable: true });

export { DurableObjectState, setDeletesAlarm };
