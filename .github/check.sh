#!/usr/bin/env bash
# The check of action.yml: runs the gate once, and hands its reports to the workflow.
# Always ends with 0; the verdict is the output exit-code, so that later steps can publish it first.
set -uo pipefail

bin=${LAYOUTPROBE_BIN:-$RUNNER_TEMP/layoutprobe-venv/bin/layoutprobe}
reports=$RUNNER_TEMP/layoutprobe-reports
mkdir -p "$reports"

options=()
while IFS= read -r kernel; do
    [ -n "$kernel" ] && options+=(--kernel "$kernel")
done <<<"${KERNELS:-}"
[ "${ALLOW_REFERENCE:-false}" = true ] && options+=(--allow-reference)
[ "${STRICT:-false}" = true ] && options+=(--strict)
if [ -n "${BASE:-}" ] && [ "$BASE" != none ]; then
    # A checkout of one commit lacks the base.
    git cat-file -e "$BASE^{commit}" 2>/dev/null || git fetch --quiet --no-tags --depth=1 origin -- "$BASE" 2>/dev/null
    if git cat-file -e "$BASE^{commit}" 2>/dev/null; then
        options+=(--base "$BASE")
    else
        echo "::warning title=layoutprobe::the manifest was not compared: there is no commit of the base"
    fi
fi

# Names in reports come from the pull request: the log may not run them as workflow commands.
token=$(python3 -c 'import secrets; print(secrets.token_hex(16))')
echo "::stop-commands::$token"
"$bin" check ${options[@]+"${options[@]}"} \
    --report "$reports/layoutprobe.json" \
    --report "$reports/layoutprobe.sarif" \
    --report "$reports/layoutprobe.html" \
    --report "$reports/layoutprobe.md" \
    --report "$reports/layoutprobe.github" \
    --report "$reports/junit.xml" \
    -- "$MANIFEST" 2>&1
code=$?
echo "::$token::"

{
    echo "exit-code=$code"
    echo "reports=$reports"
    [ -s "$reports/layoutprobe.sarif" ] && echo "sarif=$reports/layoutprobe.sarif"
} >>"$GITHUB_OUTPUT"
if [ -s "$reports/layoutprobe.github" ]; then
    # Escaped by layoutprobe: each line is one annotation, whatever the names in it.
    cat "$reports/layoutprobe.github"
    cat "$reports/layoutprobe.md" >>"$GITHUB_STEP_SUMMARY"
else
    echo "::error title=layoutprobe::nothing could be checked (exit code $code); the log says why"
fi
exit 0
