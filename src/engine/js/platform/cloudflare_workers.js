// The module `cloudflare:workers`.
export {
  DurableObject,
  env,
  exports,
  RpcTarget,
  waitUntil,
  WorkerEntrypoint,
  WorkflowEntrypoint,
} from "ext:celld_platform/workers.js";
