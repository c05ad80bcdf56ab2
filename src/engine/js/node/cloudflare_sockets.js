// The module `cloudflare:sockets`.
export { connect, internalNewHttpClient } from "ext:celld_node/sockets.js";
