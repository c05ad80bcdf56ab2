// WebSockets and events: which event or cell a socket's handlers belong to, when what they send may leave, and the delivery of
// what parked sockets say.

import { core } from "ext:core/mod.js";
import { op_cell_gate, op_cell_gate_open, op_report_uncaught, op_socket_event_begun } from "ext:core/ops";
import { begin, cellFor, deliver, end, GONE } from "ext:celld_events/cell.js";
import { currentEvent } from "ext:celld_events/context.js";
import { noteSocket } from "ext:celld_events/talkers.js";
import { ParkedSockets } from "ext:celld_socket/hibernation.js";
import { closeSocket, setHost } from "ext:celld_socket/websocket.js";

const { clearTimeout, setTimeout } = core.loadExtScript("ext:deno_web/02_timers.js");

/** Does `run` when everything the cell has written is durable, and after everything that was given here before. */
function output(cell, run) {
  if (cell.outbox !== null) {
    cell.outbox.push(run);
  } else if (cell.handle < 0 || cell.phase === GONE || op_cell_gate_open(cell.handle)) {
    run();
  } else {
    cell.outbox = [run];
    begin(cell);
    flush(cell);
  }
}

async function flush(cell) {
  try {
    while (cell.outbox.length > 0) {
      const batch = cell.outbox;
      cell.outbox = [];
      await op_cell_gate(cell.handle);
      for (const run of batch) run();
    }
  } catch (error) {
    // What was to be revealed never became durable.
    op_report_uncaught(error, "WebSocket");
    for (const socket of cell.sockets) closeSocket(socket, 1011, "The Durable Object's storage failed.");
  } finally {
    cell.outbox = null;
    end(cell);
  }
}

/** Owner of a socket whose handlers run in a cell: the cell is not idle while the socket is open. */
class CellOwner {
  #cell;
  #socket;

  constructor(cell, socket) {
    this.#cell = cell;
    this.#socket = socket;
    cell.sockets.add(socket);
    begin(cell);
  }

  isOpen() {
    const cell = this.#cell;
    return cell.outbox === null && (cell.phase === GONE || op_cell_gate_open(cell.handle));
  }

  deliver(run) {
    return new Promise((resolve) => {
      deliver(
        this.#cell,
        () => {
          run();
          resolve();
        },
        resolve,
      );
    });
  }

  output(run) {
    output(this.#cell, run);
  }

  done() {
    if (this.#cell.sockets.delete(this.#socket)) end(this.#cell);
  }
}

/** The sockets that a cell has parked, as its instance sees them. */
function parkedSockets(cell) {
  return cell.parked ??= new ParkedSockets(cell.handle, cell.name, new ParkedOwner(cell));
}

/** Owner of the sockets that a cell has parked. */
class ParkedOwner {
  #cell;

  constructor(cell) {
    this.#cell = cell;
  }

  isOpen() {
    const cell = this.#cell;
    return cell.outbox === null && (cell.phase === GONE || op_cell_gate_open(cell.handle));
  }

  output(run) {
    output(this.#cell, run);
  }
}

/** Owner of a socket of stateless code: its event is not finished while the socket is open. */
class EventOwner {
  #event;
  #socket;
  #release;

  constructor(event, socket, release) {
    this.#event = event;
    this.#socket = socket;
    this.#release = release;
    noteSocket(event, socket);
  }

  isOpen() {
    return true;
  }

  deliver(run) {
    run();
  }

  output(run) {
    run();
  }

  done() {
    if (this.#event.sockets.delete(this.#socket)) this.#release(this.#event);
  }
}

/** Connects sockets to events; `hold` and `release` keep a stateless event going. */
function installSockets(hold, release) {
  setHost({
    attach(socket) {
      const event = currentEvent();
      if (event === null) throw new Error("A WebSocket can only be accepted while an event is handled.");
      if (event.cell === null) {
        hold(event);
        return new EventOwner(event, socket, release);
      }
      if (event.cell.phase === GONE) throw new Error("The Durable Object was reset.");
      return new CellOwner(event.cell, socket);
    },
    report: (error) => op_report_uncaught(error, "WebSocket"),
  });
}

/** Something that a parked socket said; `said` is as `op_socket_next` resolves. */
function deliverSocket(id, className, cellId, name, socket, said) {
  const cell = cellFor(className, cellId, name);
  begin(cell);
  let open = true;
  let begun = false;
  let timer;
  const settle = () => {
    if (!open) return;
    open = false;
    clearTimeout(timer);
    cell.inflight.delete(fail);
    end(cell);
  };
  // An event that has begun is not given again: the instance that handled it is gone.
  const fail = () => {
    if (!begun) op_socket_event_begun(id, false);
    settle();
  };
  const failed = (error) => {
    op_report_uncaught(error, "WebSocket");
    settle();
  };
  cell.inflight.add(fail);
  deliver(cell, () => {
    begun = true;
    op_socket_event_begun(id, true);
    const parked = parkedSockets(cell);
    let handled;
    try {
      handled = parked.handle(cell.instance, socket, said);
    } catch (error) {
      failed(error);
      return;
    }
    const { result, finished } = handled;
    const timeout = parked.timeout();
    if (timeout !== null) {
      timer = setTimeout(() => failed(new Error(`A WebSocket handler did not finish within ${timeout} ms.`)), timeout);
    }
    const finish = () => {
      if (cell.phase !== GONE) finished();
    };
    Promise.resolve(result).then(
      () => {
        finish();
        settle();
      },
      (error) => {
        finish();
        failed(error);
      },
    );
  }, fail);
}

export { deliverSocket, installSockets, parkedSockets };
