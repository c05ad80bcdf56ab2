// The module `cloudflare:workers`: what a Worker may see of cloudflare_workers.js.
export {
  DurableObject,
  env,
  exports,
  RpcPromise,
  RpcProperty,
  RpcStub,
  RpcTarget,
  ServiceStub,
  waitUntil,
  withEnv,
  withEnvAndExports,
  withExports,
  WorkerEntrypoint,
  WorkflowEntrypoint,
} from "ext:celld_platform/cloudflare_workers.js";
