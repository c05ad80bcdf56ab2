// node:assert/strict with the exports that the platform has.

import { Assert } from "node:assert";
import base from "node:assert/strict";

export const {
  AssertionError, deepEqual, deepStrictEqual, doesNotMatch, doesNotReject, doesNotThrow, equal, fail, ifError, match,
  notDeepEqual, notDeepStrictEqual, notEqual, notStrictEqual, ok, partialDeepStrictEqual, rejects, strict,
  strictEqual, throws,
} = { ...base, Assert, strict: base };
export { Assert };
export default base;
