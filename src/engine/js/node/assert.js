// node:assert with the exports that the platform has.

import base from "node:assert";

export const {
  Assert, AssertionError, deepEqual, deepStrictEqual, doesNotMatch, doesNotReject, doesNotThrow, equal, fail,
  ifError, match, notDeepEqual, notDeepStrictEqual, notEqual, notStrictEqual, ok, partialDeepStrictEqual, rejects,
  strict, strictEqual, throws,
} = base;
export default base;
