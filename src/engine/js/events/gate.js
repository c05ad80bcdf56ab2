// The output gate: nothing that leaves a cell reveals a write that could still be lost.
//
// Heads of responses, results and errors pass `throughGate` in cell.js, frames the outbox in sockets.js. Here are calls to the
// outside and bodies, whose every chunk waits for what was written before it was made.

import { core } from "ext:core/mod.js";
import { op_cell_gate, op_cell_gate_open } from "ext:core/ops";
import { GONE } from "ext:celld_events/cell.js";
import { currentEvent } from "ext:celld_events/context.js";
import { setOutput } from "ext:celld_socket/fetch.js";
import { setCacheGate } from "ext:celld_web/cache.js";

const { getReadableStreamResourceBacking, ReadableStream } = core.loadExtScript("ext:deno_web/06_streams.js");

function isOpen(cell) {
  return cell.handle < 0 || cell.phase === GONE || op_cell_gate_open(cell.handle);
}

/** What to wait for before the calling cell may say something to the outside; null when there is nothing. */
function outputGate() {
  const cell = currentEvent()?.cell;
  return !cell || isOpen(cell) ? null : op_cell_gate(cell.handle);
}

/** The chunks of `stream`, each once everything that `cell` had written when it came is durable. */
function gateStream(cell, stream) {
  // The host's own chunks say nothing of the cell.
  if (getReadableStreamResourceBacking(stream)) return stream;
  const reader = stream.getReader();
  let fail;
  return new ReadableStream({
    start(controller) {
      // The source ends with the instance.
      fail = (error) => controller.error(error);
      cell.bodies.add(fail);
    },
    async pull(controller) {
      let goesOn = false;
      try {
        const { done, value } = await reader.read();
        if (!isOpen(cell)) await op_cell_gate(cell.handle);
        if (done) controller.close();
        else controller.enqueue(value);
        goesOn = !done;
      } finally {
        if (!goesOn) cell.bodies.delete(fail);
      }
    },
    cancel(reason) {
      cell.bodies.delete(fail);
      return reader.cancel(reason);
    },
  }, { highWaterMark: 0 });
}

/** Makes the body of what `cell` sends wait for its writes. A body that exists already, or that comes from the host, has none. */
function gateBody(cell, body) {
  const stream = body?.streamOrStatic;
  if (!(stream instanceof ReadableStream) || body.unusable()) return;
  body.streamOrStatic = gateStream(cell, stream);
}

setOutput({
  gate: outputGate,
  gateBody(body) {
    const cell = currentEvent()?.cell;
    if (cell) gateBody(cell, body);
  },
});

setCacheGate(outputGate);

export { gateBody, gateStream, outputGate };
