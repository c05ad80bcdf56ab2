// node:stream/promises with the exports that the platform has.

import base from "node:stream/promises";

const { finished, pipeline } = base;

export const {
  promises,
} = { finished, pipeline, promises: base };
export { finished, pipeline };
export default base;
