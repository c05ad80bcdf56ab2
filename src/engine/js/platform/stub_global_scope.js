// Stands for deno_runtime's module of this name, of which node:console needs one member.
const windowOrWorkerGlobalScope = { console: { get: () => globalThis.console } };
export { windowOrWorkerGlobalScope };
