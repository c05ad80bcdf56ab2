// Appended to Deno's node:process by the build script of celld-snapshot: members that reach the host,
// its descriptors or internal modules.
for (
  const name of [
    "_debugEnd", "_debugProcess", "_kill", "_linkedBinding", "_startProfilerIdleNotifier", "abort", "binding",
    "chdir", "dlopen", "kill", "loadEnvFile", "openStdin", "reallyExit", "setegid", "seteuid", "setgid",
    "setuid", "umask",
  ]
) {
  try {
    delete process[name];
  } catch {
    // Not configurable: shadowed below.
  }
  if (name in process) {
    process[name] = undefined;
  }
}
process.getBuiltinModule = (id) => {
  id = String(id);
  const name = id.startsWith("node:") ? id.slice(5) : id;
  return __NODE_MODULES__.includes(name) ? lazyNodeModule().createRequire("/")(name) : undefined;
};
