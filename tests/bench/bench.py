#!/usr/bin/env python3
"""Compares celld with workerd and wrangler on this machine, in one run.

    tests/bench/bench.py [--seconds N] [--celld PATH] [NAME ...]

Names: hello, echo, stream, hono, counter, storage, activation, dev, memory (default: all). Server and load generator are pinned to one core each. Needs wrk, npm and
taskset; installs workerd and wrangler from the npm registry beside itself. Ratios are the result; absolute figures depend on the
machine and on what else runs on it.
"""

import argparse
import contextlib
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SERVER_CORE, LOAD_CORE = "0", "1"
# A file system in memory: a bucket there answers at once.
MEMORY = pathlib.Path("/dev/shm")
CONNECTIONS = 64

HELLO = "export default { fetch() { return new Response('Hello World!'); } };\n"
COUNTER = """import { DurableObject } from "cloudflare:workers";
export class Counter extends DurableObject {
  n = 0;
  fetch() { return new Response(String(++this.n)); }
}
export default { fetch(request, env) { return env.COUNTER.get(env.COUNTER.idFromName("a")).fetch(request); } };
"""
STORAGE = """import { DurableObject } from "cloudflare:workers";
export class Counter extends DurableObject {
  async fetch() {
    const n = ((await this.ctx.storage.get("n")) ?? 0) + 1;
    await this.ctx.storage.put("n", n);
    return new Response(String(n));
  }
}
let next = 0;
export default {
  fetch(request, env) {
    return env.COUNTER.get(env.COUNTER.idFromName(String(next++ % 64))).fetch(request);
  },
};
"""
ECHO = """export default { async fetch(request) { return Response.json(await request.json()); } };
"""
STREAM = """const chunk = new Uint8Array(64 * 1024).fill(97);
export default {
  fetch() {
    let left = 16;
    return new Response(new ReadableStream({
      type: "bytes",
      pull(controller) {
        controller.enqueue(chunk.slice());
        if (--left === 0) controller.close();
      },
    }));
  },
};
"""
HONO = """import { Hono } from "hono";
const app = new Hono();
app.use(async (c, next) => { await next(); c.header("x-one", "1"); });
app.use("/api/*", async (c, next) => { c.set("user", "ann"); await next(); });
for (let i = 0; i < 9; i++) app.get(`/api/route${i}/:id`, (c) => c.json({ route: i, id: c.req.param("id"), user: c.get("user") }));
app.get("/", (c) => c.text("home"));
export default app;
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def get(url, timeout=5):
    with urllib.request.urlopen(url, timeout=timeout) as answer:
        return answer.read().decode()


def wait_for(url, process, seconds=20):
    """Seconds until `url` answers with a success."""
    start = time.monotonic()
    while time.monotonic() - start < seconds:
        if process.poll() is not None:
            sys.exit(f"{process.args} ended with {process.returncode} before it answered")
        try:
            get(url, timeout=1)
            return time.monotonic() - start
        except OSError:
            time.sleep(0.002)
    sys.exit(f"{process.args} did not answer within {seconds} s")


@contextlib.contextmanager
def running(command, cwd, env=None):
    process = subprocess.Popen(
        command, cwd=cwd, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, process_group=0
    )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def project(directory, source, durable):
    directory.mkdir(parents=True)
    config = {"name": "bench", "main": "index.js", "compatibility_date": "2026-01-01"}
    if durable:
        config["durable_objects"] = {"bindings": [{"name": "COUNTER", "class_name": "Counter"}]}
        config["migrations"] = [{"tag": "v1", "new_sqlite_classes": ["Counter"]}]
    (directory / "wrangler.json").write_text(json.dumps(config))
    (directory / "index.js").write_text(source)
    storage = directory / "storage"
    storage.mkdir()
    namespaces = bindings = ""
    if durable:
        namespaces = f"""
    durableObjectNamespaces = [ (className = "Counter", uniqueKey = "k", enableSql = true) ],
    durableObjectStorage = (localDisk = "disk"),
    bindings = [ (name = "COUNTER", durableObjectNamespace = "Counter") ],"""
        bindings = f', (name = "disk", disk = (path = "{storage}", writable = true))'
    (directory / "config.capnp").write_text(f"""using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [ (name = "main", worker = .worker){bindings} ],
  sockets = [ (name = "http", address = "127.0.0.1:PORT", http = (), service = "main") ],
);
const worker :Workerd.Worker = (
    modules = [ (name = "index.js", esModule = embed "index.js") ],
    compatibilityDate = "2025-12-01",{namespaces}
);
""")


def start_celld(celld, directory, port, pinned):
    command = [celld, "dev", "--port", str(port), "--no-watch", "--no-live-reload"]
    env = dict(os.environ, CELLD_SHARDS="1") if pinned else None
    return running((["taskset", "-c", SERVER_CORE] if pinned else []) + command, directory, env)


def start_workerd(directory, port):
    text = (directory / "config.capnp").read_text().replace("PORT", str(port))
    (directory / "run.capnp").write_text(text)
    workerd = next((HERE / "node_modules/@cloudflare").glob("workerd-linux-*/bin/workerd"))
    return running(["taskset", "-c", SERVER_CORE, str(workerd), "serve", "run.capnp"], directory)


def load(url, seconds, script=None):
    out = subprocess.run(
        ["taskset", "-c", LOAD_CORE, "wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "--latency"]
        + (["-s", str(script)] if script else [])
        + [url],
        check=True, capture_output=True, text=True,
    ).stdout
    bad = re.search(r"Non-2xx or 3xx responses: (\d+)", out)
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", out)[1])
    return {"rate": rate, "p50": re.search(r"\n\s+50%\s+(\S+)", out)[1], "p99": re.search(r"\n\s+99%\s+(\S+)", out)[1], "bad": int(bad[1]) if bad else 0}


def bundled(source, directory):
    """The source with its packages, as one module: workerd takes no packages."""
    packages = directory / "packages"
    packages.mkdir(parents=True)
    (packages / "index.js").write_text(source)
    subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--loglevel=error", "hono@4.13.19"], cwd=packages, check=True)
    esbuild = os.environ.get("CELLD_ESBUILD") or "esbuild"
    subprocess.run([esbuild, "--bundle", "--format=esm", "--log-level=error", "index.js", "--outfile=out.js"], cwd=packages, check=True)
    return (packages / "out.js").read_text()


def throughput(name, source, durable, goal, args, work, path="", body=None):
    directory = work / name
    script = None
    if body is not None:
        script = work / f"{name}.lua"
        script.write_text(f"wrk.method = 'POST'\nwrk.headers['content-type'] = 'application/json'\nwrk.body = '{body}'\n")
    project(directory, source, durable)
    results = {}
    for server in ("celld", "workerd"):
        port = free_port()
        start = start_celld(args.celld, directory, port, True) if server == "celld" else start_workerd(directory, port)
        with start as process:
            url = f"http://127.0.0.1:{port}/"
            if body is None:
                wait_for(url, process)
            else:
                time.sleep(2)
            load(url + path, 1, script)
            results[server] = load(url + path, args.seconds, script)
    for server, r in results.items():
        print(f"{name:8} {server:8} {r['rate']:>10,.0f} requests/s   p50 {r['p50']}  p99 {r['p99']}" + (f"   {r['bad']} FAILED" if r["bad"] else ""))
    print(f"{name:8} ratio    {results['celld']['rate'] / results['workerd']['rate']:>10.2f} x   (goal {goal} x)\n")


def activation(args, work):
    """The first request of a small cell that is in the bucket alone, less the same request again: what an activation costs. Once with
    the bucket on the disk, and once in memory, where the store itself takes next to no time."""
    for place, parent in (("on disk", work), ("in memory", MEMORY)):
        if not parent.is_dir():
            print(f"activate skipped {place}: there is no {parent}")
            continue
        with tempfile.TemporaryDirectory(prefix="celld-bench-", dir=parent) as temporary:
            activate(args, pathlib.Path(temporary) / "activation", place)
    print()


def activate(args, directory, place):
    source = STORAGE.replace("String(next++ % 64)", "new URL(request.url).pathname")
    project(directory, source, True)
    cells = 300
    for round in ("write", "read"):
        port = free_port()
        with start_celld(args.celld, directory, port, False) as process:
            url = f"http://127.0.0.1:{port}/"
            wait_for(url, process)
            connection = http.client.HTTPConnection("127.0.0.1", port)
            times = {"cold": [], "warm": []}
            for i in range(cells):
                for kind in ("cold", "warm"):
                    begin = time.perf_counter()
                    connection.request("GET", f"/cell-{i}")
                    connection.getresponse().read()
                    times[kind].append(time.perf_counter() - begin)
            if round == "write":
                # Long enough for the cells to be in the history.
                time.sleep(1)
    cold, warm = (statistics.median(times[kind]) * 1000 for kind in ("cold", "warm"))
    print(f"activate celld    bucket {place}: first request p50 {cold:.2f} ms, again {warm:.2f} ms, activation {cold - warm:.2f} ms" + ("   (goal 1 ms)" if place == "in memory" else ""))


def start_times(command, directory, edit, n):
    """Seconds to the first response, and seconds from a save to its answer, n times each."""
    starts, saves = [], []
    for _ in range(n):
        port = free_port()
        begin = time.monotonic()
        with running(command(port), directory) as process:
            url = f"http://127.0.0.1:{port}/"
            wait_for(url, process, 60)
            starts.append(time.monotonic() - begin)
            time.sleep(0.5)
            for i in range(5):
                text = f"edit-{time.monotonic_ns()}-{i}"
                edit(text)
                saved = time.monotonic()
                while text not in get(url, timeout=10):
                    if time.monotonic() - saved > 20:
                        sys.exit("a saved change was never served")
                    time.sleep(0.001)
                saves.append(time.monotonic() - saved)
                time.sleep(0.3)
    return starts, saves


def dev(args, work):
    """The counter example, with a marker in front of what it answers."""
    directory = work / "dev"
    shutil.copytree(ROOT / "examples/counter", directory, ignore=shutil.ignore_patterns(".celld", "node_modules", ".wrangler"))
    main = directory / "src/index.ts"
    source = main.read_text()
    answer = "return Response.json({ name, value: await counter.value() });"
    if answer not in source:
        sys.exit("examples/counter has changed: adapt the benchmark")

    def edit(marker):
        main.write_text(source.replace(answer, f'return new Response("{marker} " + (await counter.value()));'))

    edit("start")
    wrangler = HERE / "node_modules/wrangler/bin/wrangler.js"
    results = {}
    for name, command, n in (
        ("celld", lambda port: [args.celld, "dev", "--port", str(port)], 5),
        ("wrangler", lambda port: ["node", str(wrangler), "dev", "--port", str(port), "--ip", "127.0.0.1", "--show-interactive-dev-session=false"], 2),
    ):
        starts, saves = start_times(command, directory, edit, n)
        results[name] = (statistics.median(starts), statistics.median(saves))
        print(f"dev      {name:8} start to first response {results[name][0] * 1000:,.0f} ms   save to new answer p50 {results[name][1] * 1000:,.0f} ms", flush=True)
    print(f"dev      ratio    start {results['wrangler'][0] / results['celld'][0]:.1f} x (goal 4 x, 250 ms)   save {results['wrangler'][1] / results['celld'][1]:.1f} x (goal 100 ms)\n")


def rss(pid):
    """Resident memory of a process and its children, in bytes."""
    pids, todo = [], [pid]
    while todo:
        p = todo.pop()
        pids.append(p)
        with contextlib.suppress(OSError):
            for task in pathlib.Path(f"/proc/{p}/task").iterdir():
                todo += map(int, (task / "children").read_text().split())
    total = 0
    for p in set(pids):
        with contextlib.suppress(OSError):
            total += int(pathlib.Path(f"/proc/{p}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return total


def memory(args, work):
    source = STORAGE.replace("String(next++ % 64)", "new URL(request.url).pathname")
    directory = work / "memory"
    project(directory, source, True)
    count = 3000
    for server in ("celld", "workerd"):
        port = free_port()
        start = start_celld(args.celld, directory, port, False) if server == "celld" else start_workerd(directory, port)
        with start as process:
            url = f"http://127.0.0.1:{port}/"
            wait_for(url, process)
            for i in range(500):
                get(f"{url}warm-{i}")
            time.sleep(4)
            before = rss(process.pid)
            for i in range(count):
                get(f"{url}cell-{i}")
            # Idle cells close their connections after a second; workerd keeps what it has for ten.
            time.sleep(4)
            each = (rss(process.pid) - before) / count
            print(f"memory   {server:8} {each / 1024:,.1f} KB for one more idle cell that has used storage" + ("   (goal 32 KB)" if server == "celld" else ""))
    print()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=[])
    parser.add_argument("--seconds", type=int, default=8)
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    parser.add_argument("--celld", default=str(target / "release/celld"))
    args = parser.parse_args()
    for tool in ("wrk", "taskset", "npm"):
        if not shutil.which(tool):
            sys.exit(f"{tool} is not on PATH")
    if not (HERE / "node_modules").is_dir():
        subprocess.run(["npm", "ci", "--no-audit", "--no-fund", "--loglevel=error"], cwd=HERE, check=True)
    names = args.names or ["hello", "echo", "stream", "hono", "counter", "storage", "activation", "dev", "memory"]
    with tempfile.TemporaryDirectory(prefix="celld-bench-") as temporary:
        work = pathlib.Path(temporary)
        for name in names:
            match name:
                case "hello":
                    throughput(name, HELLO, False, 4, args, work)
                case "echo":
                    text = json.dumps({"name": "a name", "values": list(range(12)), "note": "about a hundred bytes of JSON"})
                    throughput(name, ECHO, False, 3, args, work, body=text)
                case "stream":
                    throughput(name, STREAM, False, 1.5, args, work)
                case "hono":
                    throughput(name, bundled(HONO, work), False, 2, args, work, path="api/route5/42")
                case "activation":
                    activation(args, work)
                case "counter":
                    throughput(name, COUNTER, True, 5, args, work)
                case "storage":
                    throughput(name, STORAGE, True, 15, args, work)
                case "dev":
                    dev(args, work)
                case "memory":
                    memory(args, work)
                case _:
                    sys.exit(f"no benchmark is called {name}")


if __name__ == "__main__":
    main()
