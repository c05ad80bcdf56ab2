// The native functions that user code can reach and that are not of V8's standard objects. Somebody has looked at each: none takes a
// path, a descriptor or a number of the host's, none listens, and those that connect ask the permissions of the isolate.
export default [
  // Web Crypto. The brand gives structured cloning the key's material, within the isolate that has the key anyway.
  "globalThis.Crypto", "globalThis.CryptoKey", "globalThis.SubtleCrypto", "Crypto#getRandomValues", "Crypto#subtle",
  "CryptoKey#algorithm", "CryptoKey#extractable", "CryptoKey#type", "CryptoKey#usages", "instances[Symbol(Deno.core.hostObject)]",
  // The stack of an error, and its frames.
  "error.stack<get>", "error.stack<set>",
  "frames.__proto__.getColumnNumber", "frames.__proto__.getEvalOrigin", "frames.__proto__.getFileName",
  "frames.__proto__.getFunction", "frames.__proto__.getFunctionName", "frames.__proto__.getLineNumber",
  "frames.__proto__.getMethodName", "frames.__proto__.getPromiseIndex", "frames.__proto__.getScriptNameOrSourceURL",
  "frames.__proto__.getThis", "frames.__proto__.getTypeName", "frames.__proto__.isAsync", "frames.__proto__.isConstructor",
  "frames.__proto__.isEval", "frames.__proto__.isNative", "frames.__proto__.isPromiseAll", "frames.__proto__.isToplevel",
  "frames.__proto__.toString",
  // What `node:async_hooks` knows of a handle.
  "AsyncWrap#asyncReset", "AsyncWrap#getAsyncId", "AsyncWrap#getProviderType", "AsyncWrap#provider", "HandleWrap#close",
  "HandleWrap#hasRef", "HandleWrap#ref", "HandleWrap#unref", "class AsyncWrap", "class HandleWrap",
  // Compression.
  "BrotliEncoder#close", "BrotliEncoder#init", "BrotliEncoder#params", "BrotliEncoder#reset", "Zlib#close", "Zlib#init",
  "Zlib#params", "Zlib#reset", "Zlib#setRejectGarbageAfterEnd", "ZstdCompress#close", "ZstdCompress#init", "ZstdCompress#params",
  "ZstdCompress#reset", "class BrotliEncoder", "class Zlib", "class ZstdCompress", "instances._handle[Symbol(kNativeWrite)]",
  "instances._handle[Symbol(kNativeWriteSync)]",
  // Hashes; the class without a name is that of ciphers and keys.
  "class ", "class Hasher",
  // Sockets of `node:net` and `node:tls`, which have handles as in Node.js. A connection asks the permissions of the isolate, also for an
  // address that a name has been resolved to.
  "LibUvStreamWrap#close", "LibUvStreamWrap#getBytesRead", "LibUvStreamWrap#getBytesWritten", "LibUvStreamWrap#readStart",
  "LibUvStreamWrap#readStop", "LibUvStreamWrap#setBlocking", "LibUvStreamWrap#setHandle", "LibUvStreamWrap#shutdown",
  "LibUvStreamWrap#useUserBuffer", "LibUvStreamWrap#writeAsciiString", "LibUvStreamWrap#writeBuffer",
  "LibUvStreamWrap#writeLatin1String", "LibUvStreamWrap#writeUcs2String", "LibUvStreamWrap#writeUtf8String",
  "LibUvStreamWrap#writev", "TCPWrap#close", "TCPWrap#connect", "TCPWrap#connect6", "TCPWrap#getpeername", "TCPWrap#getsockname",
  "TCPWrap#reset", "TCPWrap#setKeepAlive", "TCPWrap#setNetPermToken", "TCPWrap#setNoDelay", "TCPWrap#socketTypeForIpc",
  "TLSWrap#attach", "TLSWrap#attachJsStream", "TLSWrap#attachPipe", "TLSWrap#cancelWrite", "TLSWrap#destroySsl",
  "TLSWrap#drainEncOut", "TLSWrap#emitEof", "TLSWrap#enableClientHelloCb", "TLSWrap#enableSessionCallbacks",
  "TLSWrap#finishAccept", "TLSWrap#getAlpnNegotiatedProtocol", "TLSWrap#getBytesRead", "TLSWrap#getBytesWritten",
  "TLSWrap#getCipher", "TLSWrap#getClientHelloAlpn", "TLSWrap#getFinished", "TLSWrap#getPeerCertificate",
  "TLSWrap#getPeerCertificateChain", "TLSWrap#getPeerFinished", "TLSWrap#getProtocol", "TLSWrap#getServername",
  "TLSWrap#initClientTls", "TLSWrap#initServerTls", "TLSWrap#isEstablished", "TLSWrap#isSessionReused", "TLSWrap#readBuffer",
  "TLSWrap#readStart", "TLSWrap#readStop", "TLSWrap#receive", "TLSWrap#setAlpnProtocols", "TLSWrap#setClosing",
  "TLSWrap#setHandle", "TLSWrap#setOnread", "TLSWrap#setServername", "TLSWrap#setSessionAllowed", "TLSWrap#setVerifyMode",
  "TLSWrap#shutdown", "TLSWrap#start", "TLSWrap#useUserBuffer", "TLSWrap#verifyError", "TLSWrap#writeAsciiString",
  "TLSWrap#writeBuffer", "TLSWrap#writeLatin1String", "TLSWrap#writeUcs2String", "TLSWrap#writeUtf8String", "TLSWrap#writev",
  "class LibUvStreamWrap", "class TCPWrap", "class TLSWrap",
  // Bound functions of Node.js's streams and events.
  "bound ", "bound bind", "bound bind6", "bound connect", "bound connect6", "bound getpeername", "bound getsockname",
  "bound listen", "bound onFinish", "bound onceWrapper", "bound onwrite", "bound ref", "bound setKeepAlive",
  "bound setNetPermToken", "bound setNoDelay", "bound unref",
];

// Methods that are there and throw: they take descriptors of the host or listen on its addresses (`platform::deny`).
export const closed = [
  "TCPWrap#accept", "TCPWrap#bind", "TCPWrap#bind6", "TCPWrap#bindWithFlags", "TCPWrap#fdForIpc", "TCPWrap#listen", "TCPWrap#open",
  "TCPWrap#openFromRid", "TCPWrap#takeStream",
];
