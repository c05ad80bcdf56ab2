# Sourced from the root of the checkout: what the tests need that cargo does not bring. Sets CELLD_ESBUILD.
tools=${CARGO_TARGET_DIR:-target}/test-tools
mkdir -p "$tools"
tools=$(cd "$tools" && pwd)
if [ -z "${CELLD_ESBUILD:-}" ]; then
  cmp -s tests/package-lock.json "$tools/package-lock.json" || {
    cp tests/package.json tests/package-lock.json "$tools/"
    npm ci --prefix "$tools" --no-audit --no-fund --loglevel=error
  }
  # The native program inside the package: the package's own launcher starts Node.js first.
  CELLD_ESBUILD=$(ls "$tools"/node_modules/@esbuild/*/bin/esbuild | head -n1)
  export CELLD_ESBUILD
fi
