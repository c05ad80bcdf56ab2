#!/usr/bin/env bash
# Runs every test. Installs what the tests need that cargo does not bring: esbuild and the npm packages of the examples.
#
#   tests/run.sh [ARGUMENTS OF cargo test]
set -euo pipefail
cd "$(dirname "$0")/.."

for tool in cargo cc npm; do
  command -v "$tool" >/dev/null || { echo "tests/run.sh: $tool is not on PATH, and the tests need it" >&2; exit 1; }
done

. tests/tools.sh
(cd examples/hono && { [ -d node_modules ] || npm ci --no-audit --no-fund --loglevel=error; })

# The binary first: the whole-binary tests start it.
cargo build --release --workspace
if cargo nextest --version >/dev/null 2>&1; then
  cargo nextest run --release --workspace --no-fail-fast "$@"
else
  cargo test --release --workspace --no-fail-fast "$@"
fi
