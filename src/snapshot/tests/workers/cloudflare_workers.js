import * as module from "cloudflare:workers";
import { DurableObject, env, exports, RpcTarget, waitUntil, WorkerEntrypoint, WorkflowEntrypoint } from "cloudflare:workers";
import { equal, fails, ok } from "./assert.js";

equal(
  Object.keys(module).sort().join(),
  "DurableObject,RpcPromise,RpcProperty,RpcStub,RpcTarget,ServiceStub,WorkerEntrypoint,WorkflowEntrypoint,env,exports,waitUntil," +
    "withEnv,withEnvAndExports,withExports",
);
for (const Class of [DurableObject, WorkerEntrypoint, WorkflowEntrypoint]) {
  class Own extends Class {}
  const ctx = {};
  const own = new Own(ctx, env);
  equal(own.ctx, ctx);
  equal(own.env, env);
}
ok(new (class extends RpcTarget {})() instanceof RpcTarget);
equal(Object.keys(env).length, 0);
equal(env.MISSING, undefined);
equal(Object.keys(exports).length, 0);
await fails(() => {
  env.X = 1;
});
await fails(() => waitUntil(Promise.resolve()));
