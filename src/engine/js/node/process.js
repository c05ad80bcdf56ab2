// node:process: the exports are the members of the process object.

import process from "ext:celld_node/process_object.js";

export const {
  _channel, _debugEnd, _debugProcess, _disconnect, _events, _eventsCount, _exiting, _fatalException,
  _getActiveHandles, _getActiveRequests, _handleQueue, _kill, _linkedBinding, _maxListeners, _pendingMessage,
  _preload_modules, _rawDebug, _send, _startProfilerIdleNotifier, _stopProfilerIdleNotifier, _tickCallback, abort,
  allowedNodeEnvironmentFlags, arch, argv, argv0, assert, availableMemory, binding, channel, chdir, config,
  connected, constrainedMemory, cpuUsage, cwd, debugPort, dlopen, domain, emitWarning, env, execArgv, execPath,
  execve, exit, exitCode, features, finalization, getActiveResourcesInfo, getBuiltinModule, getSourceMapsSupport,
  getegid, geteuid, getgid, getgroups, getuid, hasUncaughtExceptionCaptureCallback, hrtime, initgroups, kill,
  loadEnvFile, memoryUsage, moduleLoadList, nextTick, noDeprecation, openStdin, permission, pid, platform, ppid,
  reallyExit, ref, release, report, resourceUsage, send, setSourceMapsEnabled, setUncaughtExceptionCaptureCallback,
  setegid, seteuid, setgid, setgroups, setuid, sourceMapsEnabled, stderr, stdin, stdout, threadCpuUsage,
  throwDeprecation, title, traceDeprecation, umask, unref, uptime, version, versions,
} = process;
export default process;
