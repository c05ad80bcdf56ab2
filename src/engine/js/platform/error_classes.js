// The error classes of Deno's runtime crate, by which its extension crates name their errors.
(function () {
const { BadResource, Interrupted, NotCapable } = __bootstrap.core;
const errors = { BadResource, Interrupted, NotCapable };
const names = [
  "AddrInUse", "AddrNotAvailable", "AlreadyExists", "BrokenPipe", "Busy", "ConnectionAborted",
  "ConnectionRefused", "ConnectionReset", "FilesystemLoop", "Http", "InvalidData", "IsADirectory",
  "NetworkUnreachable", "NotADirectory", "NotConnected", "NotFound", "NotSupported", "PermissionDenied",
  "TimedOut", "UnexpectedEof", "WouldBlock", "WriteZero",
];
for (const name of names) {
  errors[name] = {
    [name]: class extends Error {
      constructor(message, options) {
        super(message, options);
        this.name = name;
      }
    },
  }[name];
}
return { errors };
})();
