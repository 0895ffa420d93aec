#!/usr/bin/env bash
# Runs every check given, one shell command an argument; shows the output of those that fail, and fails if any did.
set -uo pipefail

failed=()
for check in "$@"; do
    start=$SECONDS
    if output=$(bash -c "$check" 2>&1); then
        printf '  ok    %3ds  %s\n' "$((SECONDS - start))" "$check"
    else
        printf '  FAIL  %3ds  %s\n%s\n' "$((SECONDS - start))" "$check" "$output"
        failed+=("$check")
    fi
done

if ((${#failed[@]})); then
    printf '\n%d of %d checks failed:\n' "${#failed[@]}" "$#" >&2
    printf '  %s\n' "${failed[@]}" >&2
    exit 1
fi
