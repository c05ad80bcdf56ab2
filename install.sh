#!/bin/sh
# Installs celld for the current user; see usage() for what it does and where it puts things.
set -eu

REPOSITORY="denoland/celld"
ESBUILD_VERSION="0.28.2"
V8_RELEASE="https://github.com/denoland/rusty_v8/releases/download/v150.4.0"

usage() {
    cat <<'USAGE'
Usage: install.sh [--demo | --rollback | --uninstall | --help]

Inside a checkout of celld: builds it with cargo and installs this tree. Anywhere else: downloads a release.
Needs no root and is safe to run again.

  --demo       install this checkout, then serve examples/hello with `celld dev` until Ctrl-C
  --rollback   go back to the release that was active before
  --uninstall  remove every release and the command (projects and their data stay)
  --help       show this

Places:
  ~/.local/lib/celld/releases/RELEASE/   the releases, side by side
  ~/.local/bin/celld                     a link to the active one

Environment:
  CELLD_VERSION           install exactly this release, such as v0.0.1; an earlier one to go back
  CELLD_RELEASE_BASE_URL  where releases are, in place of GitHub: https://… or file:///directory with
                          LATEST (a tag), download/TAG/celld-TARGET.tar.gz and the same name with .sha256
  CELLD_INSTALL_BINARY    install this executable under the checkout's release name instead of building one
  RUSTY_V8_ARCHIVE        link this V8 library when building
USAGE
}

say() { printf '%s\n' "$*" >&2; }
step() { printf '> %s\n' "$*" >&2; }
fail() {
    printf 'install.sh: %s\n' "$*" >&2
    exit 1
}
have() { command -v "$1" >/dev/null 2>&1; }

# The directory of this script if it is a checkout of celld; nothing when the script comes through a pipe.
checkout() {
    [ -f "$0" ] || return 0
    directory=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
    if [ -f "$directory/Cargo.toml" ] && [ -d "$directory/src/celld" ]; then
        printf '%s\n' "$directory"
    fi
}

# The machine as a Rust target.
target() {
    case "$(uname -s)-$(uname -m)" in
    Linux-x86_64 | Linux-amd64) echo x86_64-unknown-linux-gnu ;;
    Linux-aarch64 | Linux-arm64) echo aarch64-unknown-linux-gnu ;;
    Darwin-x86_64) echo x86_64-apple-darwin ;;
    Darwin-arm64 | Darwin-aarch64) echo aarch64-apple-darwin ;;
    *) fail "celld does not run on $(uname -s) $(uname -m): Linux and macOS on x86-64 and ARM64 only" ;;
    esac
}

fetch() { # URL FILE
    if have curl; then
        curl -fsSL --retry 3 -o "$2" "$1"
    elif have wget && [ "${1#file:}" = "$1" ]; then
        wget -q -O "$2" "$1"
    elif [ "${1#file://}" != "$1" ]; then
        cp -- "${1#file://}" "$2"
    else
        fail "curl or wget is needed to download $1"
    fi
}

sha() { # BITS FILE
    if have "sha${1}sum"; then
        "sha${1}sum" "$2" | cut -d ' ' -f 1
    elif have shasum; then
        shasum -a "$1" "$2" | cut -d ' ' -f 1
    else
        fail "sha${1}sum or shasum is needed to verify $2"
    fi
}

# --- the active release -------------------------------------------------------------------------------------

# The name of the active release, or nothing.
active() {
    [ -L "$LINK" ] || return 0
    destination=$(readlink "$LINK")
    case $destination in
    "$RELEASES"/*/celld) destination=${destination#"$RELEASES/"} && printf '%s\n' "${destination%/celld}" ;;
    esac
}

# Stops before anything is overwritten that this script did not make.
check_link() {
    if [ -e "$LINK" ] || [ -L "$LINK" ]; then
        [ -n "$(active)" ] || fail "$LINK is not a link that this script made: move it away and run this again"
    fi
}

activate() { # RELEASE
    check_link
    was=$(active)
    if [ -n "$was" ] && [ "$was" != "$1" ]; then
        printf '%s\n' "$was" >"$HOME_DIR/previous"
    fi
    mkdir -p "$BIN"
    # Renaming over the link is atomic: a celld that starts now finds the old or the new release.
    ln -s "$RELEASES/$1/celld" "$LINK.new.$$"
    mv -f "$LINK.new.$$" "$LINK"
    step "$LINK is now release $1"
}

path_hint() {
    case ":$PATH:" in
    *":$BIN:"*) ;;
    *)
        say ""
        say "$BIN is not on PATH. Add this line to the start-up file of your shell:"
        # shellcheck disable=SC2016 # the line is for the user's shell to expand
        say '    export PATH="$HOME/.local/bin:$PATH"'
        ;;
    esac
}

# --- esbuild ------------------------------------------------------------------------------------------------

# Whether esbuild on PATH is the native program; the launcher of the npm package needs Node.js and is not used.
esbuild_on_path() {
    have esbuild || return 1
    [ "$(dd if="$(command -v esbuild)" bs=2 count=1 2>/dev/null | tr -d '\0')" != "#!" ]
}

# The npm platform of esbuild and the SHA-512 digest of its package.
esbuild_package() { # TARGET
    case $1 in
    x86_64-unknown-linux-gnu) echo "linux-x64 e314d9af5154992a105b85c85a68addedcd0ad44d933e3773f45d5f3144e298179d177c8ef178ef74fb56d9bcdc3122e7d0f610d0551247e588603d517c03f1d" ;;
    aarch64-unknown-linux-gnu) echo "linux-arm64 a56e000b43f78adf1cedda3d315338a79d45cc7cdd33f4d9adeaeeae045c1c9d964dad55435088ab5f319dc7e9049c38a23922659aca5b6c8805604ff768fa52" ;;
    x86_64-apple-darwin) echo "darwin-x64 baaeacb885983f7eeacc675d04a3f0e501103e2e8788b1ac3bb5269297f2698350dc3fab37ac3a59fc07fa7baa7065d6bdac06c31384ae83b86069c587de5acf" ;;
    aarch64-apple-darwin) echo "darwin-arm64 9f82aa90e42badac4725c82333546fc1b8a07d028828956933bc69f8ab318b2512ad17485e7b7bdd586b3c0c747d5e388607e62152a3c4c37d275b798f249593" ;;
    esac
}

# Puts esbuild beside the binary in DIRECTORY. A node that only serves does not need it, so a failure is no
# reason to stop.
add_esbuild() { # DIRECTORY
    if [ -x "$1/esbuild" ]; then
        return 0
    fi
    if esbuild_on_path; then
        step "esbuild is on PATH: $(command -v esbuild)"
        return 0
    fi
    triple=$(target)
    package=$(esbuild_package "$triple")
    platform=${package%% *}
    digest=${package#* }
    step "downloading esbuild $ESBUILD_VERSION ($platform) from the npm registry"
    if ! download_esbuild "$platform"; then
        say "  esbuild could not be downloaded. celld dev and celld deploy need it: put it on PATH, or run this again."
        return 0
    fi
    if [ "$(sha 512 "$SCRATCH/esbuild.tgz")" != "$digest" ]; then
        fail "the esbuild package from the npm registry does not have the expected SHA-512 digest"
    fi
    tar -xzf "$SCRATCH/esbuild.tgz" -C "$SCRATCH" package/bin/esbuild
    chmod 755 "$SCRATCH/package/bin/esbuild"
    mv -f "$SCRATCH/package/bin/esbuild" "$1/esbuild"
}

download_esbuild() { # PLATFORM
    # npm knows the user's registry and proxy.
    if have npm; then
        packed=$(cd "$SCRATCH" && npm pack --silent "@esbuild/$1@$ESBUILD_VERSION" 2>/dev/null) || packed=
        if [ -n "$packed" ] && [ -f "$SCRATCH/$packed" ]; then
            mv "$SCRATCH/$packed" "$SCRATCH/esbuild.tgz"
            return 0
        fi
    fi
    fetch "https://registry.npmjs.org/@esbuild/$1/-/$1-$ESBUILD_VERSION.tgz" "$SCRATCH/esbuild.tgz"
}

# --- from a checkout ----------------------------------------------------------------------------------------

install_checkout() { # DIRECTORY
    cd "$1"
    version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
    hash=$(git rev-parse --short=9 HEAD 2>/dev/null) || hash=unknown
    release="dev-$version-$hash"
    check_link
    binary=${CELLD_INSTALL_BINARY:-}
    if [ -n "$binary" ]; then
        [ -x "$binary" ] || fail "CELLD_INSTALL_BINARY is $binary, which is not an executable file"
        step "installing $binary as release $release"
    else
        build
        binary=${CARGO_TARGET_DIR:-target}/release/celld
        [ -x "$binary" ] || fail "cargo did not leave a binary at $1/$binary"
    fi
    mkdir -p "$RELEASES/$release"
    cp "$binary" "$RELEASES/$release/celld.new"
    chmod 755 "$RELEASES/$release/celld.new"
    mv -f "$RELEASES/$release/celld.new" "$RELEASES/$release/celld"
    add_esbuild "$RELEASES/$release"
    activate "$release"
}

build() {
    have cargo || fail "cargo is needed to build celld: install Rust from https://rustup.rs and run this again"
    if ! have cc && ! have gcc && ! have clang; then
        fail "a C compiler is needed to build SQLite: install one, such as 'apt install gcc libc6-dev' or 'xcode-select --install'"
    fi
    triple=$(target)
    # .cargo/config.toml names the library in the tree, which is for x86-64 Linux.
    if [ -z "${RUSTY_V8_ARCHIVE:-}" ] && [ "$triple" != x86_64-unknown-linux-gnu ]; then
        RUSTY_V8_ARCHIVE="$V8_RELEASE/librusty_v8_release_$triple.a.gz"
        export RUSTY_V8_ARCHIVE
        step "V8 will be downloaded from $RUSTY_V8_ARCHIVE"
    fi
    step "building release $release with cargo (the first time takes about 20 minutes on two cores)"
    # The whole workspace: a part of it would choose other features of shared crates, and the tests would build them again.
    cargo build --release --locked --workspace
}

# --- from a release -----------------------------------------------------------------------------------------

latest_tag() {
    case $BASE_URL in
    file://*)
        [ -f "${BASE_URL#file://}/LATEST" ] || fail "there is no ${BASE_URL#file://}/LATEST: set CELLD_VERSION"
        tag=$(head -n 1 "${BASE_URL#file://}/LATEST")
        ;;
    *)
        have curl || fail "curl is needed to find the latest release; or set CELLD_VERSION"
        # GitHub answers /latest with a redirect to /tag/TAG.
        location=$(curl -fsSLI -o /dev/null -w '%{url_effective}' "$BASE_URL/latest") ||
            fail "cannot find the latest release at $BASE_URL/latest"
        tag=${location##*/tag/}
        ;;
    esac
    printf '%s\n' "$tag"
}

install_release() {
    check_link
    tag=${CELLD_VERSION:-}
    [ -n "$tag" ] || tag=$(latest_tag)
    case $tag in
    v[0-9]*) ;;
    *) fail "\"$tag\" is not the tag of a release, such as v0.0.1" ;;
    esac
    case $tag in
    */* | *..*) fail "\"$tag\" is not the tag of a release, such as v0.0.1" ;;
    esac
    if [ -x "$RELEASES/$tag/celld" ]; then
        step "release $tag is already here"
    else
        archive="celld-$(target).tar.gz"
        url="$BASE_URL/download/$tag/$archive"
        step "downloading $url"
        fetch "$url" "$SCRATCH/$archive" || fail "cannot download $url"
        fetch "$url.sha256" "$SCRATCH/$archive.sha256" || fail "cannot download $url.sha256"
        expected=$(cut -d ' ' -f 1 "$SCRATCH/$archive.sha256")
        [ "$(sha 256 "$SCRATCH/$archive")" = "$expected" ] ||
            fail "$archive does not have the SHA-256 digest that the release states: nothing was installed"
        step "its SHA-256 digest is $expected"
        mkdir "$SCRATCH/unpacked"
        tar -xzf "$SCRATCH/$archive" -C "$SCRATCH/unpacked"
        [ -f "$SCRATCH/unpacked/celld" ] || fail "$archive holds no celld"
        chmod 755 "$SCRATCH/unpacked/celld"
        mkdir -p "$RELEASES"
        # The scratch directory is on the same file system, so the release appears whole or not at all.
        rm -rf "${RELEASES:?}/$tag"
        mv "$SCRATCH/unpacked" "$RELEASES/$tag"
    fi
    add_esbuild "$RELEASES/$tag"
    activate "$tag"
}

# --- the rest -----------------------------------------------------------------------------------------------

rollback() {
    [ -f "$HOME_DIR/previous" ] || fail "there is no earlier release to go back to"
    previous=$(head -n 1 "$HOME_DIR/previous")
    [ -x "$RELEASES/$previous/celld" ] || fail "release $previous is not in $RELEASES any more"
    activate "$previous"
}

uninstall() {
    check_link
    if [ -L "$LINK" ]; then
        step "removing $LINK"
        rm -f "$LINK"
    fi
    if [ -d "$HOME_DIR" ]; then
        step "removing $HOME_DIR"
        rm -rf "$HOME_DIR"
    fi
    step "celld is not installed any more"
}

main() {
    [ -n "${HOME:-}" ] || fail "HOME is not set"
    HOME_DIR="$HOME/.local/lib/celld"
    RELEASES="$HOME_DIR/releases"
    BIN="$HOME/.local/bin"
    LINK="$BIN/celld"
    BASE_URL=${CELLD_RELEASE_BASE_URL:-https://github.com/$REPOSITORY/releases}
    BASE_URL=${BASE_URL%/}

    if [ $# -gt 1 ]; then
        usage >&2
        exit 2
    fi
    case ${1:-} in
    --help | -h)
        usage
        exit 0
        ;;
    --rollback)
        rollback
        exit 0
        ;;
    --uninstall)
        uninstall
        exit 0
        ;;
    --demo)
        [ -n "$(checkout)" ] || fail "--demo needs a checkout of celld: run the install.sh inside one"
        ;;
    "") ;;
    *)
        usage >&2
        exit 2
        ;;
    esac

    mkdir -p "$HOME_DIR"
    SCRATCH=$(mktemp -d "$HOME_DIR/scratch.XXXXXX")
    trap 'rm -rf "$SCRATCH"' EXIT
    trap 'exit 130' INT TERM HUP

    tree=$(checkout)
    if [ -n "$tree" ] && [ -z "${CELLD_VERSION:-}" ]; then
        install_checkout "$tree"
    else
        install_release
    fi
    path_hint
    if [ "${1:-}" = --demo ]; then
        rm -rf "$SCRATCH"
        step "serving $tree/examples/hello; edit its src/index.ts and save"
        exec "$LINK" dev "$tree/examples/hello"
    fi
}

# On the last line, so that a download that breaks off runs nothing.
main "$@"
