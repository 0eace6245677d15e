#!/bin/sh
# Installs the Debian packages that firn needs, skipping those already there.
#
#   scripts/install-deps.sh build    what the program and its demo need
#   scripts/install-deps.sh test     also the compilers, checkers and engines that the tests use
#
# Works as root, or with sudo; otherwise it names the packages and stops.
set -eu

build_packages="gcc libc6-dev meson ninja-build pkg-config libzstd-dev libsnappy-dev liblz4-dev libbrotli-dev
    libdeflate-dev zlib1g-dev libroaring-dev libjansson-dev libsqlite3-dev libyaml-dev libxxhash-dev libedit-dev"
test_packages="clang clang-format libcmocka-dev binutils git python3-venv maven default-jre-headless
    chromium-headless-shell"

case "${1:-build}" in
build) packages=$build_packages ;;
test) packages="$build_packages $test_packages" ;;
*)
    echo "usage: $0 [build|test]" >&2
    exit 2
    ;;
esac

missing=
for package in $packages; do
    state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$state" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null; then
    echo "install-deps: this is not a Debian system; install the equivalents of:$missing" >&2
    exit 1
fi
as_root=
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "install-deps: not root and no sudo; as root run: apt-get install$missing" >&2
        exit 1
    fi
    as_root=sudo
fi
echo "install-deps: installing$missing" >&2
$as_root apt-get update -qq
# shellcheck disable=SC2086 # one word a package
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >&2
