// node:dns/promises with the exports that the platform has.

import { ADDRCONFIG, ALL, V4MAPPED } from "node:celld/dns";
import base from "node:dns/promises";

export const {
  ADDRGETNETWORKPARAMS, BADFAMILY, BADFLAGS, BADHINTS, BADNAME, BADQUERY, BADRESP, BADSTR, CANCELLED, CONNREFUSED,
  DESTRUCTION, EOF, FILE, FORMERR, LOADIPHLPAPI, NODATA, NOMEM, NONAME, NOTFOUND, NOTIMP, NOTINITIALIZED, REFUSED,
  Resolver, SERVFAIL, TIMEOUT, getDefaultResultOrder, getServers, lookup, lookupService, resolve, resolve4, resolve6,
  resolveAny, resolveCaa, resolveCname, resolveMx, resolveNaptr, resolveNs, resolvePtr, resolveSoa, resolveSrv,
  resolveTxt, reverse, setDefaultResultOrder, setServers,
} = { ...base, ADDRCONFIG, ALL, V4MAPPED };
export { ADDRCONFIG, ALL, V4MAPPED };
export default base;
