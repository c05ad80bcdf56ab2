//! Headers, bodies, requests and responses.

use super::Change;

pub const BODY: &[Change] = &[
    // Every body is a byte stream.
    (
        "        const stream = createReadableStream(
          noop,
          (controller) => {
            controller.enqueue(chunkToU8(body));
            controller.close();
          },
          noopAsync,
          0,
        );",
        "        const stream = createReadableByteStream(
          noop,
          (controller) => {
            // A queue takes buffers over, and these bytes may be those of a clone, too.
            const bytes = typeof body === 'string' ? core.encode(body) : TypedArrayPrototypeSlice(body);
            if (TypedArrayPrototypeGetByteLength(bytes) > 0) controller.enqueue(bytes);
            controller.close();
          },
          noopAsync,
        );",
    ),
    ("  createReadableStream,\n", "  createReadableByteStream,\n"),
    ("const { core, primordials } = __bootstrap;", "const { core, internals, primordials } = __bootstrap;"),
    ("return JSONParse(chunkToString(bytes));", "return internals.celldParseJson(chunkToString(bytes));"),
    // FixedLengthStream enters the length of its readable side.
    (
        "return { extractBody, InnerBody, mixinBody, packageData };",
        "return { extractBody, InnerBody, knownLengths: staticBodyLength, mixinBody, packageData };",
    ),
    (
        "    if (this.unusable()) throw new TypeError(\"Body already consumed\");",
        "    if (this.unusable()) {
      throw new TypeError(
        this.consumed()
          ? 'Body has already been used. It can only be used once. Use tee() first if you need to read it twice.'
          : 'This ReadableStream is currently locked to a reader.',
      );
    }",
    ),
    (
        "    if (object.locked || isReadableStreamDisturbed(object)) {
      throw new TypeError(\"ReadableStream is locked or disturbed\");
    }",
        "    if (isReadableStreamDisturbed(object)) {
      throw new TypeError('This ReadableStream is disturbed (has already been read from), and cannot be used as a body.');
    }
    if (object.locked) {
      throw new TypeError('This ReadableStream is locked to a reader, and cannot be used as a body.');
    }",
    ),
    (
        "\"Missing content type\"",
        "\"Parsing a Body as FormData requires a Content-Type header.\"",
    ),
    (
        "\"Body can not be decoded as form data\"",
        "\"Unrecognized Content-Type header value. FormData can only parse the following MIME types: multipart/form-data, application/x-www-form-urlencoded\"",
    ),
    (
        "            throw new TypeError(
              \"Cannot turn into form data: missing boundary parameter in mime type of multipart form data\",
            );",
        "            throw new TypeError(
              'No boundary string in Content-Type header. The multipart/form-data MIME type requires a boundary parameter, e.g. ' +
                '\\'Content-Type: multipart/form-data; boundary=\"abcd\"\\'. See RFC 7578, section 4.',
            );",
    ),
    (
        "          if (boundary === null) {",
        "          if (!boundary) {",
    ),
];

pub const RESPONSE: &[Change] = &[
    (
        "      `The status provided (${init.status}) is not equal to 101 and outside the range [200, 599]`,",
        "      'Responses may only be constructed with status codes in the range 200 to 599, inclusive.',",
    ),
    // An empty body is none where there may be none.
    (
        "  // 6.
  if (bodyWithType !== null) {
    if (nullBodyStatus(response[_response].status)) {
      throw new TypeError(
        \"Response with null body status cannot have body\",
      );
    }",
        "  // 6.
  if (bodyWithType !== null && nullBodyStatus(response[_response].status) && bodyWithType.body.streamOrStatic.body?.length === 0) {
    bodyWithType = null;
  }
  if (bodyWithType !== null) {
    if (nullBodyStatus(response[_response].status)) {
      throw new TypeError('Response with null body status (101, 204, 205, or 304) cannot have a body.');
    }",
    ),
    // What has no JSON form is the text \"undefined\".
    (
        "    const str = serializeJSValueToJSONString(data);",
        "    const str = `${primordials.JSONStringify(data)}`;",
    ),
    (
        "    inner.type = \"error\";
    const response = webidl.createBranded(Response);
    initializeResponseBase(response, inner, \"immutable\");",
        "    inner.type = \"error\";
    const response = webidl.createBranded(Response);
    initializeResponseBase(response, inner, \"response\");",
    ),
    (
        "    const parsedURL = new URL(url, baseURL);
    if (!redirectStatus(status)) {
      throw new RangeError(`Invalid redirect status code: ${status}`);
    }",
        "    let parsedURL;
    try {
      parsedURL = new URL(url, baseURL);
    } catch {
      throw new TypeError(`Unable to parse URL: ${url}`);
    }
    if (!redirectStatus(status)) {
      throw new RangeError(`${status} is not a redirect status code. It must be one of: 301, 302, 303, 307, or 308.`);
    }",
    ),
    ("\"Body is unusable\"", "\"This ReadableStream is currently locked to a reader,\""),
    // `init.cf` and `encodeBody`, which the wire and other Workers see.
    (
        "    if (!defaultInit) {
      init = webidlConvertersResponseInitFast(init, prefix, \"Argument 2\");
    }

    this[_brand] = _brand;
    initializeResponseBase(this, newInnerResponse(), \"response\");
",
        "    let cf;
    let encodeBody;
    if (!defaultInit) {
      cf = init.cf;
      encodeBody = init.encodeBody;
      if (encodeBody !== undefined && encodeBody !== 'automatic' && encodeBody !== 'manual') {
        throw new TypeError(`encodeBody: unexpected value: ${encodeBody}`);
      }
      init = webidlConvertersResponseInitFast(init, prefix, \"Argument 2\");
    }

    this[_brand] = _brand;
    initializeResponseBase(this, newInnerResponse(), \"response\");
    if (cf !== undefined) this[_response].cf = cf;
    if (encodeBody === 'manual') this[_response].isEncoded = true;
",
    ),
    (
        "    bodyDecoded: response.bodyDecoded,
    url() {",
        "    bodyDecoded: response.bodyDecoded,
    cf: response.cf,
    isEncoded: response.isEncoded,
    url() {",
    ),
    (
        "  get redirected() {
    webidl.assertBranded(this, ResponsePrototype);",
        "  get cf() {
    webidl.assertBranded(this, ResponsePrototype);
    return this[_response].cf;
  }

  get redirected() {
    webidl.assertBranded(this, ResponsePrototype);",
    ),
];

pub const REQUEST: &[Change] = &[
    // There are no object URLs.
    ("    blobUrlEntry = blobFromObjectUrl(url);", ""),
    ("Input request's body is unusable", "Cannot reconstruct a Request with a used body."),
    ("Request with GET/HEAD method cannot have body", "Request with a GET or HEAD method cannot have a body."),
    ("\"Body is unusable\"", "\"This ReadableStream is currently locked to a reader,\""),
    (
        "      const parsedURL = new URL(input, baseURL);
      request = newInnerRequest(",
        "      let parsedURL;
      try {
        parsedURL = new URL(input, baseURL);
      } catch {
        throw new TypeError(`Invalid URL: ${input}`);
      }
      request = newInnerRequest(",
    ),
    // Methods are those of the platform's HTTP library, in upper case.
    (
        "      request.method = KNOWN_METHODS[method] ??
        validateAndNormalizeMethod(method);",
        "      request.method = KNOWN_METHODS[method] ?? platformMethod(method);",
    ),
    (
        "class Request {
",
        "const PLATFORM_METHODS = {
  __proto__: null, ACL: true, BAN: true, BIND: true, CHECKOUT: true, COPY: true, DELETE: true, GET: true, HEAD: true, LINK: true,
  LOCK: true, MERGE: true, MKACTIVITY: true, MKCALENDAR: true, MKCOL: true, MOVE: true, MSEARCH: true, NOTIFY: true, OPTIONS: true,
  PATCH: true, POST: true, PROPFIND: true, PROPPATCH: true, PURGE: true, PUT: true, QUERY: true, REBIND: true, REPORT: true,
  SEARCH: true, SOURCE: true, SUBSCRIBE: true, TRACE: true, UNBIND: true, UNLINK: true, UNLOCK: true, UNSUBSCRIBE: true,
};
function platformMethod(method) {
  const upper = StringPrototypeToUpperCase(method);
  if (PLATFORM_METHODS[upper] !== true) throw new TypeError(`Invalid HTTP method string: ${method}`);
  return upper;
}
class Request {
",
    ),
    // The signal that was given, not one that follows it.
    (
        "      this[_signalCache] = createDependentAbortSignal([signal], prefix);
    }

    // 31.",
        "      this[_signalCache] = signal;
    }

    // 31.",
    ),
    (
        "      if (init.mode === \"navigate\") {
        throw new TypeError(\"Request mode 'navigate' is not allowed\");
      }",
        "",
    ),
    // `cf` travels with the request.
    (
        "    // 28.
    this[_request] = request;",
        "    if (init.cf !== undefined) request.cf = init.cf;
    // 28.
    this[_request] = request;",
    ),
    (
        "  if (request.cacheMode !== undefined) cloned.cacheMode = request.cacheMode;",
        "  if (request.cf !== undefined) cloned.cf = request.cf;
  if (request.cacheMode !== undefined) cloned.cacheMode = request.cacheMode;",
    ),
    (
        "  get redirect() {
    webidl.assertBranded(this, RequestPrototype);",
        "  get cf() {
    webidl.assertBranded(this, RequestPrototype);
    return this[_request].cf;
  }

  get fetcher() {
    return null;
  }

  get redirect() {
    webidl.assertBranded(this, RequestPrototype);",
    ),
    (
        "    { key: \"client\", converter: webidl.converters.any },",
        "    {
      key: \"cf\",
      converter: (cf) => {
        if (typeof cf !== 'object' || cf === null) {
          throw new TypeError(\"Incorrect type for the 'cf' field on 'RequestInitializerDict': the provided value is not of type 'Object'.\");
        }
        return cf;
      },
    },",
    ),
    (
        "webidl.converters[\"RequestRedirect\"] = webidl.createEnumConverter(
  \"RequestRedirect\",
  [
    \"follow\",
    \"error\",
    \"manual\",
  ],
);",
        "webidl.converters[\"RequestRedirect\"] = (redirect) => {
  redirect = String(redirect);
  if (redirect !== 'follow' && redirect !== 'manual') {
    throw new TypeError(
      'Invalid redirect value, must be one of \"follow\" or \"manual\" (\"error\" won\\'t be implemented since it does not make sense ' +
        'at the edge; use \"manual\" and check the response status code).',
    );
  }
  return redirect;
};",
    ),
    (
        "webidl.converters[\"RequestCache\"] = webidl.createEnumConverter(
  \"RequestCache\",
  [
    \"default\",
    \"no-store\",
    \"reload\",
    \"no-cache\",
    \"force-cache\",
    \"only-if-cached\",
  ],
);",
        "webidl.converters[\"RequestCache\"] = (cache) => {
  cache = String(cache);
  if (cache !== 'no-store' && cache !== 'no-cache') throw new TypeError(`Unsupported cache mode: ${cache}`);
  return cache;
};",
    ),
    (
        "    return this[_request].cacheMode ?? \"default\";",
        "    return this[_request].cacheMode;",
    ),
    (
        "    { key: \"integrity\", converter: webidl.converters[\"DOMString\"] },",
        "    {
      key: \"integrity\",
      converter: (integrity) => {
        if (`${integrity}` !== '') {
          throw new TypeError('Subrequest integrity checking is not implemented. The integrity option must be either undefined or an empty string.');
        }
        return '';
      },
    },",
    ),
    // Of the standard's properties these are not the platform's.
    ("    { key: \"referrer\", converter: webidl.converters[\"USVString\"] },\n", ""),
    ("    { key: \"referrerPolicy\", converter: webidl.converters[\"ReferrerPolicy\"] },\n", ""),
    ("    { key: \"mode\", converter: webidl.converters[\"RequestMode\"] },\n", ""),
    ("    { key: \"credentials\", converter: webidl.converters[\"RequestCredentials\"] },\n", ""),
    (
        "webidl.configureInterface(Request);",
        "delete Request.prototype.mode;
delete Request.prototype.credentials;
delete Request.prototype.referrer;
delete Request.prototype.referrerPolicy;
webidl.configureInterface(Request);",
    ),
];

pub const HEADERS: &[Change] = &[
    ("`Invalid header name: \"${name}\"`", "'Invalid header name.'"),
    ("`Invalid header value: \"${value}\"`", "'Invalid header value.'"),
    ("Cannot change headers: headers are immutable", "Can't modify immutable headers."),
    ("Cannot change header: headers are immutable", "Can't modify immutable headers."),
    (
        "`Invalid header: length must be 2, but is ${header.length}`",
        "'To initialize a Headers object from a sequence, each inner sequence must have exactly two elements.'",
    ),
    // An extension of the platform.
    (
        "  /**
   * @param {string} name
   */
  has(name) {",
        "  getAll(name) {
    if (byteLowerCase(`${name}`) !== 'set-cookie') {
      throw new TypeError('getAll() can only be used with the header name \"Set-Cookie\".');
    }
    return this.getSetCookie();
  }

  /**
   * @param {string} name
   */
  has(name) {",
    ),
];

pub const FORM_DATA: &[Change] = &[
    (
        "    value = new File([value], \"blob\", { type: value.type });",
        "    value = new File([value], filename ?? name, { type: value.type });",
    ),
    (
        "    if (form !== undefined) {
      webidl.illegalConstructor();
    }",
        "",
    ),
    ("headers.get(\"Content-Type\") || \"application/octet-stream\"", "headers.get(\"Content-Type\") ?? ''"),
    (
        "          StringPrototypeReplace(
            value,
            FORM_DETA_SERIALIZE_PATTERN,
            CRLF,
          ) + CRLF,",
        "          value + CRLF,",
    ),
];

pub const FETCH: &[Change] = &[
    ("    type: \"basic\",", "    type: \"default\","),
    // Header values are UTF-8 on the wire; the op has one character a byte.
    (
        "async function mainFetch(req, recursive, terminator, inspectorCtx = null) {",
        "const NOT_ASCII = new primordials.SafeRegExp('[^\\\\x00-\\\\x7f]');
function mapValues(list, convert) {
  for (let i = 0; i < list.length; i++) {
    if (primordials.RegExpPrototypeTest(NOT_ASCII, list[i][1])) {
      list = primordials.ArrayPrototypeMap(list, (pair) => [pair[0], convert(pair[1])]);
      break;
    }
  }
  return list;
}
function valueToBytes(value) {
  const bytes = core.encode(value);
  let text = '';
  for (let i = 0; i < bytes.length; i++) text += primordials.StringFromCharCode(bytes[i]);
  return text;
}
function valueFromBytes(value) {
  const bytes = new primordials.Uint8Array(value.length);
  for (let i = 0; i < value.length; i++) bytes[i] = primordials.StringPrototypeCharCodeAt(value, i);
  return core.decode(bytes);
}
async function mainFetch(req, recursive, terminator, inspectorCtx = null) {",
    ),
    (
        "    req.currentUrl(),
    req.headerList,
    req.clientRid,",
        "    req.currentUrl(),
    mapValues(req.headerList, valueToBytes),
    req.clientRid,",
    ),
    (
        "  if (req.blobUrlEntry !== null) {",
        "  if (url.protocol !== 'http:' && url.protocol !== 'https:' && url.protocol !== 'data:') {
    throw new TypeError(`Fetch API cannot load: ${req.currentUrl()}`);
  }
  if (req.blobUrlEntry !== null) {",
    ),
    ("    headerList: resp.headers,", "    headerList: mapValues(resp.headers, valueFromBytes),"),
];
