#!/usr/bin/env bash
# The step of action.yml, which describes the variables. Prints the report of "btfcore check",
# appends its table to the summary of the job, and exits with the exit code of "btfcore check".
set -euo pipefail

type -P go >/dev/null || {
  echo "check.sh: go isn't on PATH; add a step with actions/setup-go before this one" >&2
  exit 1
}
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT
# auto, because actions/setup-go turns off the download of the version that go.mod names.
GOTOOLCHAIN=auto CGO_ENABLED=0 go build -C "$GITHUB_ACTION_PATH/.." -trimpath -buildvcs=false \
  -o "$temp/" ./tools/btfcore

# words LINES: prints the files that match a line or, if none matches, the line.
words() {
  local line
  while read -r line; do
    if [[ $line ]]; then compgen -G "$line" || echo "$line"; fi
  done <<<"$1"
}
mapfile -t programs < <(words "$PROGRAMS")
mapfile -t needs < <(words "$NEEDS")
mapfile -t kernels < <(words "$KERNELS")
mapfile -t options < <(words "$OPTIONS")

if ((${#programs[@]})); then
  "$temp/btfcore" needs -o "$temp/needs" -- "${programs[@]}"
  needs+=("$temp/needs")
fi
check=("$temp/btfcore" check "${needs[@]/#/--needs=}" ${EXPECT:+"--expect=$EXPECT"}
  "${options[@]}")
code=0
"${check[@]}" -- "${kernels[@]}" || code=$?

# The summary gets the table in the page, because it accepts no other parts of a page.
"${check[@]}" --format=html -o "$temp/page" -- "${kernels[@]}" 2>/dev/null || true
if [[ -s $temp/page ]]; then
  size=$(stat -c %s "$temp/page")
  printf '### BPF programs and kernels\n\n' >>"$GITHUB_STEP_SUMMARY"
  if ((size < 1000000)); then
    sed -n '/^<table>$/,/^<\/table>$/p' "$temp/page"
  else
    echo "The table has $size bytes, too many for a summary: see the log of this step."
  fi >>"$GITHUB_STEP_SUMMARY"
fi
exit "$code"
