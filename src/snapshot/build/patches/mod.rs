//! Places of Deno's Web APIs and Node.js polyfills where the platform behaves otherwise, and what is put there instead.
//!
//! Only what cannot be done from outside is here; the rest is in `src/engine/js/web` and
//! `src/engine/js/node`. A place that does not exist any more fails the
//! build: after an update of Deno's crates the change has to be thought through again.

mod fetch;
mod node;
mod streams;
mod url;

/// A place and its replacement.
pub type Change = (&'static str, &'static str);

/// The changes of a file, by its specifier.
pub fn changes(specifier: &str) -> &'static [Change] {
    match specifier {
        "ext:deno_webidl/00_webidl.js" => WEBIDL,
        "ext:deno_web/00_url.js" => url::URL,
        "ext:deno_web/01_dom_exception.js" => url::DOM_EXCEPTION,
        "ext:deno_web/01_urlpattern.js" => url::URL_PATTERN,
        "ext:deno_web/02_event.js" => EVENT,
        "ext:deno_web/02_timers.js" => streams::TIMERS,
        "ext:deno_web/03_abort_signal.js" => streams::ABORT,
        "ext:deno_web/05_base64.js" => streams::BASE64,
        "ext:deno_web/06_streams.js" => streams::STREAMS,
        "ext:deno_web/08_text_encoding.js" => streams::ENCODING,
        "ext:deno_web/09_file.js" => url::FILE,
        "ext:deno_web/14_compression.js" => streams::COMPRESSION,
        "ext:deno_crypto/00_crypto.js" => CRYPTO,
        "ext:deno_fetch/20_headers.js" => fetch::HEADERS,
        "ext:deno_fetch/21_formdata.js" => fetch::FORM_DATA,
        "ext:deno_fetch/22_body.js" => fetch::BODY,
        "ext:deno_fetch/23_request.js" => fetch::REQUEST,
        "ext:deno_fetch/23_response.js" => fetch::RESPONSE,
        "ext:deno_fetch/26_fetch.js" => fetch::FETCH,
        "ext:deno_fetch/27_eventsource.js" => url::EVENT_SOURCE,
        "ext:deno_node/_next_tick.ts" => node::NEXT_TICK,
        "ext:deno_node/_zlib_binding.mjs" => node::ZLIB,
        "ext:deno_node/internal/buffer.mjs" => node::BUFFER,
        "ext:deno_node/internal/timers.mjs" => node::TIMERS,
        "ext:deno_node/internal/errors.ts" => node::NODE_ERRORS,
        "ext:deno_node/internal_binding/node_options.ts" => node::NODE_OPTIONS,
        "ext:deno_node/path/_posix.ts" => node::POSIX_PATH,
        "ext:deno_node/path/_win32.ts" => node::WIN32_PATH,
        _ => &[],
    }
}

/// The native classes have static methods for the rest of Deno, one of which hands out keys that are not to be handed out.
const CRYPTO: &[Change] = &[
    (
        "const CryptoKeyPrototype = CryptoKey.prototype;",
        "const CryptoKeyPrototype = CryptoKey.prototype;
const { exportNodeMaterial, fromCloneData, importSync } = CryptoKey;
delete CryptoKey.exportNodeMaterial;
delete CryptoKey.fromCloneData;
delete CryptoKey.importSync;
const { create: createCrypto, registerSymbols } = Crypto;
delete Crypto.create;
delete Crypto.registerSymbols;
const { create: createSubtleCrypto } = SubtleCrypto;
delete SubtleCrypto.create;",
    ),
    ("(data) => CryptoKey.fromCloneData(data)", "(data) => fromCloneData(data)"),
    (
        "    Crypto.registerSymbols(webidl.brand, kKeyObject);",
        "    registerSymbols(webidl.brand, kKeyObject);",
    ),
    ("subtleSingleton = SubtleCrypto.create();", "subtleSingleton = createSubtleCrypto();"),
    (
        "cryptoSingleton = Crypto.create(getSubtleSingleton());",
        "cryptoSingleton = createCrypto(getSubtleSingleton());",
    ),
    ("return CryptoKey.exportNodeMaterial(cryptoKey);", "return exportNodeMaterial(cryptoKey);"),
    (
        "return CryptoKey.importSync(format, keyData, algorithm, extractable, usages);",
        "return importSync(format, keyData, algorithm, extractable, usages);",
    ),
];

const WEBIDL: &[Change] = &[
    (
        "function makeException(ErrorType, message, prefix, context, code = undefined) {
  const err = new ErrorType(
    `${prefix ? prefix + \": \" : \"\"}${context ? context : \"Value\"} ${message}`,
  );",
        concat!(
            include_str!("../../../engine/js/platform/wording.js"),
            "function makeException(ErrorType, message, prefix, context) {
  return new ErrorType(conversionText(message, prefix, context));
}
function makeNodeException(ErrorType, message, prefix, context, code = undefined) {
  const err = new ErrorType(message);"
        ),
    ),
    (
        "    if (argNames !== undefined) {
      // Node-compatible error",
        "    throw new TypeError(missingText(length, required, prefix));
    if (argNames !== undefined) {
      // Node-compatible error",
    ),
    (
        "      err.code = \"ERR_INVALID_ARG_TYPE\";
      throw err;
    }

    const idlDict = { __proto__: null };",
        "      throw err;
    }

    const idlDict = { __proto__: null };",
    ),
    (
        "        const err = new TypeError(
          `The \"callback\" argument must be of type function. Received ${
            idlCallback === null
              ? \"null\"
              : idlCallback === undefined
              ? \"undefined\"
              : typeof idlCallback
          }`,
        );
        err.code = \"ERR_INVALID_ARG_TYPE\";
        throw err;",
        "        throw new TypeError(`Failed to execute 'forEach' on '${name}': parameter 1 is not of type 'function'.`);",
    ),
    // Header values are texts, see js/web/fields.js.
    (
        "  const x = converters.DOMString(V, prefix, context, opts);
  if (!isByteString(x)) {",
        "  const x = converters.DOMString(V, prefix, context, opts);
  if (false) {",
    ),
    // Iterators of Headers are of the fields that were there, and name what they give.
    (
        "      const { target, kind, index } = internal;
      const values = target[dataSymbol];
      const len = values.length;",
        "      const { target, kind, index } = internal;
      const values = internal.values ?? target[dataSymbol];
      const len = values.length;",
    ),
    (
        "  function createDefaultIterator(target, kind) {
    const iterator = ObjectCreate(iteratorPrototype);",
        "  const tagged = (tag) =>
    ObjectCreate(iteratorPrototype, { [SymbolToStringTag]: { __proto__: null, configurable: true, value: tag } });
  const prototypes = {
    __proto__: null,
    'key': tagged('KeyIterator'),
    'value': tagged('ValueIterator'),
    'key+value': tagged('EntryIterator'),
  };
  const isSnapshot = name === 'Headers';
  function createDefaultIterator(target, kind) {
    const iterator = ObjectCreate(prototypes[kind]);",
    ),
    (
        "      value: { target, kind, index: 0 },",
        "      value: { target, kind, index: 0, values: isSnapshot ? target[dataSymbol] : undefined },",
    ),
];

const EVENT: &[Change] = &[
    (
        "    options = addEventListenerOptionsConverter(options, prefix);
",
        "    if (callback != null && typeof callback !== 'function' && typeof callback !== 'object') {
      throw new TypeError(`${prefix}: parameter 2 is not of type 'function or HandlerObject'.`);
    }
    options = addEventListenerOptionsConverter(options, prefix);
    if (options?.capture) throw new TypeError('addEventListener(): options.capture must be false.');
",
    ),
    (
        "    if (event.type === \"unload\" && self === globalThis_) {",
        "    if (!ObjectPrototypeIsPrototypeOf(EventPrototype, event)) {
      throw new TypeError(\"Failed to execute 'dispatchEvent' on 'EventTarget': parameter 1 is not of type 'Event'.\");
    }
    if (event.type === \"unload\" && self === globalThis_) {",
    ),
];
