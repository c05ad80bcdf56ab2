// Requests and responses at the boundary to the host: built lazily on the way in, taken apart with as few calls as possible on
// the way out.

import { core } from "ext:core/mod.js";
import {
  op_request_body,
  op_request_headers,
  op_respond_bytes,
  op_respond_empty,
  op_respond_stream,
  op_respond_string,
  op_respond_text,
  op_respond_upgrade,
} from "ext:core/ops";
import { encoded } from "ext:celld_web/encoding.js";
import { decodeFields, encodeFields, toBytes } from "ext:celld_web/fields.js";
import { resourceForStream } from "ext:celld_events/made.js";
import { isUsual, phraseOf } from "ext:celld_web/phrases.js";
import { asksForSocket, NOT_ASKED_FOR, Response, setSocket, socketOf } from "ext:celld_socket/response.js";
import { moveSocket, socketFromResource, takeForResponse } from "ext:celld_socket/websocket.js";

const { fromInnerRequest, toInnerRequest } = core.loadExtScript("ext:deno_fetch/23_request.js");
const {
  fromInnerResponse,
  getInnerResponse,
  newInnerResponse,
  responseBodyUsed,
  ResponsePrototype,
  SERVE_FAST_HEADER_CONTENT_TYPE,
  SERVE_FAST_HEADER_DEFAULT_TEXT,
  SERVE_FAST_HEADER_NONE,
  serveFastBodyKey,
  serveFastConsumedKey,
  serveFastContentTypeKey,
  serveFastHeaderKindKey,
  serveFastStatusKey,
  toInnerResponse,
  wireHeaderList,
} = core.loadExtScript("ext:deno_fetch/23_response.js");
const { InnerBody } = core.loadExtScript("ext:deno_fetch/22_body.js");
const {
  getReadableStreamResourceBacking,
  readableStreamForRid,
} = core.loadExtScript("ext:deno_web/06_streams.js");

const NO_BODY = -1;
const PLAIN_TEXT = "text/plain;charset=UTF-8";

/** A request of the host: headers and body are fetched when they are first looked at. */
class HostRequest {
  #id;
  #method;
  #url;
  #headers;
  #body;
  #cf;

  constructor(id, method, url, hasBody) {
    this.#id = id;
    this.#method = method;
    this.#url = url;
    this.#headers = undefined;
    this.#body = hasBody ? undefined : null;
    this.redirectMode = "manual";
    this.redirectCount = 0;
    this.clientRid = null;
    this.blobUrlEntry = null;
  }

  get method() {
    return this.#method;
  }

  get headerList() {
    return this.#headers ??= decodeFields(op_request_headers(this.#id));
  }

  /** What the platform tells of the connection. Nothing is known here; code that looks for a field finds that it is not set. */
  get cf() {
    return this.#cf ??= {};
  }

  set cf(value) {
    this.#cf = value;
  }

  get body() {
    if (this.#body === undefined) {
      const rid = op_request_body(this.#id);
      this.#body = rid === NO_BODY ? null : new InnerBody(readableStreamForRid(rid));
    }
    return this.#body;
  }

  set body(value) {
    this.#body = value;
  }

  /** Detaches the request from its event, so that it can be read after the host has forgotten it. */
  materialize() {
    void this.headerList;
    void this.body;
  }

  url() {
    return this.#url;
  }

  currentUrl() {
    return this.#url;
  }

  get urlList() {
    return [() => this.#url];
  }

  get urlListProcessed() {
    return [this.#url];
  }
}

/** A request that one piece of user code hands to another in the same isolate. */
class LocalRequest {
  #url;

  constructor(method, url, headerList, body) {
    this.method = method;
    this.#url = url;
    this.headerList = headerList;
    this.body = body;
    this.redirectMode = "manual";
    this.redirectCount = 0;
    this.clientRid = null;
    this.blobUrlEntry = null;
  }

  url() {
    return this.#url;
  }

  currentUrl() {
    return this.#url;
  }

  get urlList() {
    return [() => this.#url];
  }

  get urlListProcessed() {
    return [this.#url];
  }
}

/** The parts of a `Request` that is about to be sent: its body moves, its headers are copied. */
function takeRequest(request) {
  const inner = toInnerRequest(request);
  let body = null;
  if (inner.body !== null) {
    if (inner.body.unusable()) {
      throw new TypeError(
        "Cannot reconstruct a Request with a used body.",
      );
    }
    body = inner.body.createProxy();
  }
  const headers = inner.headerList;
  const copy = new Array(headers.length);
  for (let i = 0; i < headers.length; i++) copy[i] = [headers[i][0], headers[i][1]];
  return new LocalRequest(inner.method, inner.url(), copy, body);
}

/** The resource ID of a body that is about to leave the isolate, or `NO_BODY`. */
function bodyToRid(body) {
  if (body === null) return NO_BODY;
  const stream = body.stream;
  const backing = getReadableStreamResourceBacking(stream);
  if (backing && backing.autoClose && !stream.locked) {
    // A body that came from the host and was not touched goes back without passing through JavaScript.
    stream.getReader();
    return backing.rid;
  }
  return resourceForStream(stream, body.length);
}

const usedTwice = () =>
  new TypeError(
    "Body has already been used. It can only be used once. Use tee() first if you need to read it twice.",
  );

/** What the platform says when a handler's result is no response. */
function assertResponse(value) {
  if (!(typeof value === "object" && value !== null && ResponsePrototype.isPrototypeOf(value))) {
    throw new TypeError(
      "Incorrect type for Promise: the Promise did not resolve to 'Response'.",
    );
  }
}

/** Makes a second use of a body that left by the short way fail as every other does. */
function markSent(response) {
  response[serveFastConsumedKey] = true;
  const body = getInnerResponse(response)?.body;
  if (body?.streamOrStatic?.consumed === false) body.streamOrStatic.consumed = true;
}

/** How the body is to be encoded on the wire: `Content-Encoding` of a response whose body is not encoded already. */
function wireEncoding(inner) {
  if (inner.isEncoded || inner.body === null) return null;
  for (const [name, value] of inner.headerList) {
    if (name.length === 16 && name.toLowerCase() === "content-encoding") {
      const encoding = value.trim().toLowerCase();
      return encoding === "gzip" || encoding === "br" ? encoding : null;
    }
  }
  return null;
}

/** `list`, the header list of a response, on the wire, behind the reason phrase if it has one: an empty name and the phrase. */
function encodeHead(inner, list) {
  const headers = encodeFields(list);
  return isUsual(inner.status, inner.statusMessage) ? headers : `\0${toBytes(inner.statusMessage)}\0${headers}`;
}

/** Whether a response is what `op_respond_text` sends but for the body, as many are that come from a cell: its head need not be written. */
function isPlainText(inner, headers) {
  return inner.status === 200 && typeof inner.body?.streamOrStatic.body === "string" && headers.length === 1 &&
    headers[0][0] === "content-type" && headers[0][1] === PLAIN_TEXT && isUsual(inner.status, inner.statusMessage);
}

/**
 * Sends `response` as the answer to event `id`, a public one or one from another isolate. Throws when it cannot be sent, having sent
 * nothing.
 */
function respond(id, response, isPublic = false) {
  if (responseBodyUsed(response)) throw usedTwice();
  if (response[serveFastStatusKey] === 200 && !response[serveFastConsumedKey]) {
    const body = response[serveFastBodyKey];
    const kind = response[serveFastHeaderKindKey];
    if (typeof body === "string" && kind === SERVE_FAST_HEADER_DEFAULT_TEXT) {
      markSent(response);
      op_respond_text(id, body);
      return;
    }
    if (typeof body === "string" && kind === SERVE_FAST_HEADER_CONTENT_TYPE) {
      markSent(response);
      op_respond_string(id, 200, "content-type\0" + response[serveFastContentTypeKey] + "\0", body);
      return;
    }
  }
  const inner = toInnerResponse(response);
  const list = wireHeaderList(inner);
  if (isPlainText(inner, list)) {
    if (inner.body.unusable()) throw usedTwice();
    const text = inner.body.streamOrStatic.body;
    inner.body.streamOrStatic.consumed = true;
    op_respond_text(id, text);
    return;
  }
  const headers = encodeHead(inner, list);
  const socket = inner.status === 101 ? socketOf(response) : null;
  if (socket !== null) {
    if (!op_respond_upgrade(id, headers, takeForResponse(socket))) throw new TypeError(NOT_ASKED_FOR);
    return;
  }
  const body = inner.body;
  if (body === null) {
    op_respond_empty(id, inner.status, headers);
    return;
  }
  if (body.unusable()) throw usedTwice();
  const encoding = isPublic && !inner.bodyDecoded ? wireEncoding(inner) : null;
  if (encoding !== null) {
    op_respond_stream(id, inner.status, headers, resourceForStream(encoded(body.stream, encoding)));
    return;
  }
  const held = body.streamOrStatic.body;
  if (typeof held === "string") {
    body.streamOrStatic.consumed = true;
    op_respond_string(id, inner.status, headers, held);
  } else if (held instanceof Uint8Array) {
    body.streamOrStatic.consumed = true;
    op_respond_bytes(id, inner.status, headers, held);
  } else {
    op_respond_stream(id, inner.status, headers, bodyToRid(body));
  }
}

/** A response as the sender of `request` sees it: immutable headers, body and socket moved over. */
function receiveResponse(response, request) {
  const inner = toInnerResponse(response);
  if (inner.body !== null) {
    if (response[serveFastConsumedKey] || inner.body.unusable()) throw usedTwice();
  }
  const received = newInnerResponse(inner.status, phraseOf(inner.status, inner.statusMessage));
  const headers = wireHeaderList(inner);
  for (let i = 0; i < headers.length; i++) received.headerList.push([headers[i][0], headers[i][1]]);
  received.body = inner.body === null ? null : inner.body.createProxy();
  received.cf = inner.cf;
  received.isEncoded = inner.isEncoded;
  const result = fromInnerResponse(received, "immutable");
  const socket = inner.status === 101 ? socketOf(response) : null;
  if (socket !== null) {
    if (!asksForSocket(request.headerList)) throw new TypeError(NOT_ASKED_FOR);
    setSocket(result, moveSocket(socket));
  }
  return result;
}

/** A response of the host, as `op_cell_fetch` describes it. */
function responseFromHost(status, statusText, headers, rid, length, socket) {
  const inner = newInnerResponse(status, phraseOf(status, statusText));
  inner.headerList = decodeFields(headers);
  if (rid !== NO_BODY) {
    inner.body = new InnerBody(readableStreamForRid(rid));
    if (length >= 0) inner.body.length = length;
  }
  const response = fromInnerResponse(inner, "immutable");
  if (socket !== NO_BODY) setSocket(response, socketFromResource(socket));
  return response;
}

export {
  assertResponse,
  bodyToRid,
  fromInnerRequest,
  HostRequest,
  NO_BODY,
  receiveResponse,
  respond,
  Response,
  responseFromHost,
  takeRequest,
};
