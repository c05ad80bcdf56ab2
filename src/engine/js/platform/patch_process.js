// Appended to Deno's node:process by the build script of celld-snapshot: members that reach the host,
// its descriptors or internal modules.
for (
  const name of [
    "_debugEnd", "_debugProcess", "_kill", "_linkedBinding", "_startProfilerIdleNotifier", "abort", "binding",
    "chdir", "dlopen", "getBuiltinModule", "kill", "loadEnvFile", "openStdin", "reallyExit", "setegid", "seteuid", "setgid",
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
