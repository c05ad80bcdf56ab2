// node:wasi: there is no system to give to a WebAssembly module.

import { ERR_METHOD_NOT_IMPLEMENTED, unsupported } from "ext:celld_node/errors.js";

class WASI {
  constructor() {
    throw new ERR_METHOD_NOT_IMPLEMENTED("WASI");
  }
}
for (const name of ["finalizeBindings", "start", "initialize", "getImportObject"]) {
  Object.defineProperty(WASI.prototype, name, { value: unsupported(name), writable: true, configurable: true });
}

export { WASI };
export default { WASI };
