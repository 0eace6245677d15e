#!/bin/sh
# Makes the virtual environment of the interop tests and prints its path.
#
# It holds what tests/interop/requirements.txt pins: Python packages, and the Java archives for Spark below jars/. The folder
# is named after the hash of that file, so a finished one is used again and a changed list makes a new one.
# FIRN_INTEROP_CACHE says where; else $XDG_CACHE_HOME, else ~/.cache, else the build folder.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
requirements=$root/tests/interop/requirements.txt
if [ -n "${FIRN_INTEROP_CACHE:-}" ]; then
    cache=$FIRN_INTEROP_CACHE
elif [ -n "${XDG_CACHE_HOME:-${HOME:-}}" ]; then
    cache=${XDG_CACHE_HOME:-$HOME/.cache}/firn-interop
else
    cache=$root/build/interop
fi
env=$cache/$(sha256sum <"$requirements" | cut -c1-16)

if [ ! -e "$env/complete" ]; then
    echo "interop-env: making $env" >&2
    mkdir -p "$cache"
    exec 9>"$cache/lock"
    flock 9
    if [ ! -e "$env/complete" ]; then
        rm -rf "$env"
        python3 -m venv "$env"
        "$env/bin/pip" install -q --disable-pip-version-check -r "$requirements" >&2
        sed -n 's/^#jar //p' "$requirements" | while read -r artifact; do
            # Maven paints its output even when there is none to show; only its failure matters here.
            mvn -B -q org.apache.maven.plugins:maven-dependency-plugin:2.8:copy \
                -Dartifact="$artifact" -DoutputDirectory="$env/jars" </dev/null >"$env/maven.log" 2>&1 || {
                cat "$env/maven.log" >&2
                exit 1
            }
        done
        touch "$env/complete"
    fi
fi
echo "$env"
