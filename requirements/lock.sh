#!/bin/sh
# Renews the locks beside this file: `make lock`, with the path of uv as argument.
set -eu
uv=$1
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

resolve() {
    "$uv" pip compile --quiet --universal --python-version 3.11 --only-binary :all: --no-header \
        --constraint requirements/torch.in "$@" pyproject.toml requirements/pins.in
}

# Every line would end with the environments that pyproject.toml names, which is said once, above.
without_environment() {
    sed -E "s/ ; \((.*)platform_machine == 'aarch64' and (.*)sys_platform == 'linux'\) or \(.*\)\$/ ; \1\2/
        s/python_full_version < '3\.14' and //; s/ and \$//; s/ ; \$//"
}

# The entries, with their comments, whose names begin with one of the words given; or all others.
entries() {
    awk -v keep="$1" -v names="^($2)" '/^[^ ]/ { named = $0 ~ names } named == keep'
}

head_of() {
    cat <<END
# Made by \`make lock\` for $1: Linux on x86-64 and aarch64, Python 3.11 to 3.13.
END
}

why_no_hashes() {
    echo "# No hashes, since a build of torch for CPUs, or for another CUDA, has others."
}

cuda='nvidia-|cuda-'
resolve --extra dev > "$work/test.txt"
resolve --extra plots --constraint "$work/test.txt" --no-annotate > "$work/demo.txt"
resolve --extra plots --extra torch --constraint "$work/test.txt" --no-annotate > "$work/torch.txt"
{
    head_of "\`make test\`"
    why_no_hashes
    echo "-c cuda.txt"
    entries 0 "$cuda" < "$work/test.txt" | without_environment
} > requirements/test.txt
{
    head_of "\`make demo\`"
    without_environment < "$work/demo.txt"
} > requirements/demo.txt
# What torch needs beyond the demo.
{
    head_of "\`make demo\` without a compiler"
    why_no_hashes
    echo "-c cuda.txt"
    echo "-r demo.txt"
    grep -vxFf "$work/demo.txt" "$work/torch.txt" | entries 0 "$cuda|triton" | without_environment
} > requirements/torch.txt
{
    head_of "the locks with torch"
    why_no_hashes
    echo "# Constraints: installed only where the build of torch asks for them; that for CPUs does not."
    entries 1 "$cuda|triton" < "$work/test.txt" | without_environment
} > requirements/cuda.txt
