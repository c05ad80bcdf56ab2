// What stateless events still say after their answer: the body of it, and their sockets. When the host ends an event's code, nobody
// will ever go on with them.

import { core } from "ext:core/mod.js";
import { closeSocket } from "ext:celld_socket/websocket.js";

const { getInnerResponse } = core.loadExtScript("ext:deno_fetch/23_response.js");
const { _state, getReadableStreamResourceBacking, ReadableStream, readableStreamError } = core.loadExtScript(
  "ext:deno_web/06_streams.js",
);

/** The code by which a client learns that its socket's handlers are no more. */
const INTERNAL_ERROR = 1011;

/** Events that have a body or sockets, some of which may have ended since. */
const talking = new Set();
const isReadable = (stream) => stream !== null && stream[_state] === "readable";
const isTalking = (event) => event.sockets?.size > 0 || isReadable(event.stream);
/** How many there may be before those that have ended are looked for. */
let most = 64;

function note(event) {
  if (talking.size >= most) {
    for (const other of talking) if (!isTalking(other)) talking.delete(other);
    most = Math.max(64, 2 * talking.size);
  }
  talking.add(event);
}

/** Notes the body of the event's answer, if JavaScript makes it. To be called before the response is sent. */
function noteBody(event, response) {
  const held = getInnerResponse(response)?.body?.streamOrStatic;
  if (!(held instanceof ReadableStream) || getReadableStreamResourceBacking(held)) return;
  event.stream = held;
  note(event);
}

/** Notes a socket whose handlers are part of the event. */
function noteSocket(event, socket) {
  (event.sockets ??= new Set()).add(socket);
  note(event);
}

/** Breaks off the body and closes the sockets of an event. */
function silence(event, error) {
  if (isReadable(event.stream)) readableStreamError(event.stream, error);
  for (const socket of [...event.sockets ?? []]) closeSocket(socket, INTERNAL_ERROR, error.message);
}

/** The same with all events. */
function silenceAll(error) {
  const all = [...talking];
  talking.clear();
  for (const event of all) silence(event, error);
}

export { noteBody, noteSocket, silence, silenceAll };
