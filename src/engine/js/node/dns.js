// node:dns with the exports that the platform has.

import base from "node:dns";

function getServers() {
  return ["1.1.1.1", "2606:4700:4700::1111", "1.0.0.1", "2606:4700:4700::1001"];
}
function setServers(_servers) {
  throw new Error("Not implemented");
}
function getDefaultResultOrder() {
  return "verbatim";
}

const all = { ...base, ADDRCONFIG: 1024, ALL: 256, getDefaultResultOrder, getServers, setServers, V4MAPPED: 2048 };

export const {
  ADDRCONFIG, ADDRGETNETWORKPARAMS, ALL, BADFAMILY, BADFLAGS, BADHINTS, BADNAME, BADQUERY, BADRESP, BADSTR,
  CANCELLED, CONNREFUSED, DESTRUCTION, EOF, FILE, FORMERR, LOADIPHLPAPI, NODATA, NOMEM, NONAME, NOTFOUND, NOTIMP,
  NOTINITIALIZED, REFUSED, Resolver, SERVFAIL, TIMEOUT, V4MAPPED, lookup, lookupService, promises, resolve, resolve4,
  resolve6, resolveAny, resolveCaa, resolveCname, resolveMx, resolveNaptr, resolveNs, resolvePtr, resolveSoa,
  resolveSrv, resolveTxt, reverse, setDefaultResultOrder,
} = all;
export { getDefaultResultOrder, getServers, setServers };
export default {
  ADDRCONFIG, ADDRGETNETWORKPARAMS, ALL, BADFAMILY, BADFLAGS, BADHINTS, BADNAME, BADQUERY, BADRESP, BADSTR,
  CANCELLED, CONNREFUSED, DESTRUCTION, EOF, FILE, FORMERR, LOADIPHLPAPI, NODATA, NOMEM, NONAME, NOTFOUND, NOTIMP,
  NOTINITIALIZED, REFUSED, Resolver, SERVFAIL, TIMEOUT, V4MAPPED, getDefaultResultOrder, getServers, lookup,
  lookupService, promises, resolve, resolve4, resolve6, resolveAny, resolveCaa, resolveCname, resolveMx,
  resolveNaptr, resolveNs, resolvePtr, resolveSoa, resolveSrv, resolveTxt, reverse, setDefaultResultOrder,
  setServers,
};
