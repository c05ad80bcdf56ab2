// node:url with the exports that the platform has.

import base from "node:url";

function toPathIfFileURL(path) {
  return path instanceof URL ? base.fileURLToPath(path) : path;
}

const module = { ...base, toPathIfFileURL };

export const {
  URL, URLSearchParams, Url, domainToASCII, domainToUnicode, fileURLToPath, format, parse, pathToFileURL, resolve,
  resolveObject, urlToHttpOptions,
} = module;
export { toPathIfFileURL };
export default {
  URL, URLSearchParams, Url, domainToASCII, domainToUnicode, fileURLToPath, format, parse, pathToFileURL, resolve,
  resolveObject, toPathIfFileURL, urlToHttpOptions,
};
