// How the platform words the errors of conversions. Put into deno_webidl's script by the build script of celld-snapshot, in front of
// the functions that use it. It has no access to anything but its arguments.

const { StringPrototypeEndsWith, StringPrototypeSlice, StringPrototypeSplit, StringPrototypeStartsWith } = primordials;

/** The types of the parameters, by operation; the last is that of all further ones. */
const PARAMETERS = {
  __proto__: null,
  "AbortSignal.any": ["Array"],
  "AbortSignal.timeout": ["integer"],
  "Blob": ["Array", "Options"],
  "CloseEvent": ["string"],
  "CompressionStream": ["string"],
  "CustomEvent": ["string"],
  "DecompressionStream": ["string"],
  "ErrorEvent": ["string"],
  "EventSource": ["string"],
  "Event": ["string"],
  "EventTarget.addEventListener": ["string", "function or HandlerObject"],
  "EventTarget.dispatchEvent": ["Event"],
  "EventTarget.removeEventListener": ["string", "function or HandlerObject"],
  "File": ["Array", "string"],
  "FormData.append": ["string", "File or Blob or string"],
  "FormData.delete": ["string"],
  "FormData.get": ["string"],
  "FormData.getAll": ["string"],
  "FormData.has": ["string"],
  "FormData.set": ["string", "File or Blob or string"],
  "Headers": ["Headers or Sequence or object"],
  "Headers.append": ["string"],
  "Headers.delete": ["string"],
  "Headers.forEach": ["function"],
  "Headers.get": ["string"],
  "Headers.has": ["string"],
  "Headers.set": ["string"],
  "MessageEvent": ["string"],
  "ReadableByteStreamController.enqueue": ["BufferSource"],
  "ReadableStream": ["UnderlyingSource", "StreamQueuingStrategy"],
  "ReadableStream.from": ["AsyncGenerator"],
  "ReadableStream.pipeThrough": ["Transform", "PipeToOptions"],
  "ReadableStream.pipeTo": ["WritableStream", "PipeToOptions"],
  "ReadableStreamBYOBReader": ["ReadableStream"],
  "ReadableStreamBYOBReader.read": ["ArrayBufferView"],
  "ReadableStreamDefaultReader": ["ReadableStream"],
  "Request": ["Request or string", "RequestInitializerDict or Request"],
  "Response": ["ReadableStream or string or Sequence", "InitializerDict or Response"],
  "Response.json": ["Value", "InitializerDict or Response"],
  "Response.redirect": ["string", "integer"],
  "ServiceWorkerGlobalScope.atob": ["string"],
  "ServiceWorkerGlobalScope.btoa": ["string"],
  "ServiceWorkerGlobalScope.fetch": ["Request or string"],
  "ServiceWorkerGlobalScope.queueMicrotask": ["function"],
  "ServiceWorkerGlobalScope.reportError": ["Value"],
  "ServiceWorkerGlobalScope.structuredClone": ["Value"],
  "TextDecoder": ["string", "ConstructorOptions"],
  "TextDecoder.decode": ["Array", "DecodeOptions"],
  "TextEncoder.encodeInto": ["string", "Uint8Array"],
  "TransformStream": ["Transformer", "StreamQueuingStrategy"],
  "URL": ["USVString"],
  "URLSearchParams.append": ["USVString"],
  "URLSearchParams.delete": ["USVString"],
  "URLSearchParams.get": ["USVString"],
  "URLSearchParams.getAll": ["USVString"],
  "URLSearchParams.has": ["USVString"],
  "URLSearchParams.set": ["USVString"],
  "WritableStream": ["UnderlyingSink", "StreamQueuingStrategy"],
  "WritableStreamDefaultWriter": ["WritableStream"],
};

/** The platform's names of dictionaries. */
const DICTIONARIES = {
  __proto__: null,
  ReadableWritablePair: "Transform",
  RequestInit: "RequestInitializerDict",
  ResponseInit: "InitializerDict",
};

/** `{ kind, name, key }` of a prefix such as `Failed to execute 'get' on 'Headers'`; null for another text. */
function readPrefix(prefix) {
  const parts = StringPrototypeSplit(prefix, "'");
  if (parts[0] === "Failed to construct ") return { text: prefix, isConstructor: true, key: parts[1] };
  if (parts[0] !== "Failed to execute ") return null;
  if (parts.length >= 5) return { text: prefix, isConstructor: false, key: `${parts[3]}.${parts[1]}` };
  // Statics are `Interface.operation`, functions of the global scope stand alone.
  const names = StringPrototypeSplit(parts[1], ".");
  const { 0: owner, 1: operation } = names.length === 2 ? names : ["ServiceWorkerGlobalScope", names[0]];
  return { text: `Failed to execute '${operation}' on '${owner}'`, isConstructor: false, key: `${owner}.${operation}` };
}

/** What a parameter that is wrong should have been; undefined when that is not known. */
function expectedType(key, index, message) {
  const types = PARAMETERS[key];
  if (types !== undefined) return types[index] ?? types[types.length - 1];
  if (StringPrototypeStartsWith(message, "is not of type ")) return StringPrototypeSlice(message, 15);
  return undefined;
}

function parameterText(found, index, type) {
  const what = found.isConstructor ? "constructor parameter" : "parameter";
  return `${found.text}: ${what} ${index + 1} is not of type '${type}'.`;
}

/** The text of a failed conversion: `message` says what is wrong with the value at `context`. */
function conversionText(message, prefix, context) {
  const plain = `${prefix ? prefix + ": " : ""}${context ? context : "Value"} ${message}`;
  if (!prefix || !context) return plain;
  if (StringPrototypeStartsWith(context, "'")) {
    // 'key' of 'Dictionary'
    const parts = StringPrototypeSplit(context, "'");
    if (parts.length < 4) return plain;
    const type = message === "is not a function" ? "function" : StringPrototypeSlice(message, 15);
    if (type === "" || (message !== "is not a function" && !StringPrototypeStartsWith(message, "is not of type "))) return plain;
    return `Incorrect type for the '${parts[1]}' field on '${DICTIONARIES[parts[3]] ?? parts[3]}': ` +
      `the provided value is not of type '${type}'.`;
  }
  const missing = StringPrototypeSplit(message, "'");
  if (missing.length === 7 && StringPrototypeEndsWith(missing[4], " is required in ")) {
    const type = missing[3] === "readable" ? "ReadableStream" : missing[3] === "writable" ? "WritableStream" : "";
    if (type !== "") {
      return `Incorrect type for the '${missing[3]}' field on '${DICTIONARIES[missing[1]] ?? missing[1]}': ` +
        `the provided value is not of type '${type}'.`;
    }
  }
  if (!StringPrototypeStartsWith(context, "Argument ")) return plain;
  const element = StringPrototypeSplit(context, ", index ");
  if (element.length === 2 && StringPrototypeStartsWith(message, "is not of type ")) {
    return `Incorrect type for array element ${element[1]}: the provided value is not of type '${StringPrototypeSlice(message, 15)}'.`;
  }
  const found = readPrefix(prefix);
  const index = Number(StringPrototypeSplit(StringPrototypeSlice(context, 9), ",")[0]) - 1;
  if (found === null || NumberIsNaN(index)) return plain;
  const type = expectedType(found.key, index, message);
  return type === undefined ? plain : parameterText(found, index, type);
}

/** The text when an operation got `length` arguments and wants more. */
function missingText(length, required, prefix) {
  const found = prefix ? readPrefix(prefix) : null;
  const type = found === null ? undefined : expectedType(found.key, length, "");
  if (type !== undefined) return parameterText(found, length, type);
  return `${prefix ? prefix + ": " : ""}${required} argument${required === 1 ? "" : "s"} required, but only ${length} present`;
}
