// `fetch` handlers in other isolates: of cells, and of the other Workers of the deployment.

import { op_fetch_elsewhere } from "ext:core/ops";
import { remoteError } from "ext:celld_events/errors.js";
import { bodyToRid, NO_BODY, responseFromHost } from "ext:celld_events/request.js";
import { encodeFields } from "ext:celld_web/fields.js";

/** Sends the request `inner` to `destination` and gives `{ response }`, or `{ thrown }` with the payload of what the handler has thrown. */
async function fetchElsewhere(destination, inner) {
  const rid = inner.body === null ? NO_BODY : bodyToRid(inner.body);
  const headers = encodeFields(inner.headerList);
  const answer = await op_fetch_elsewhere(destination, inner.method, inner.url(), headers, rid);
  if (answer.error) throw remoteError(answer.error);
  if (answer.thrown) return { thrown: { bytes: answer.thrown, caps: answer.caps ?? null, rids: answer.rids } };
  const { status, statusText, body, length, socket } = answer;
  return { response: responseFromHost(status, statusText, answer.headers, body, length, socket) };
}

export { fetchElsewhere };
