#!/usr/bin/env bash
# Exports a form to CSV with `curl` and `jq`: export_curl_jq.sh FORM ROWS DIR.
# The columns are the questions of the first page.
set -euo pipefail

url="$FORMSVC_BASE_URL/api/v1/forms/$1/submissions?limit=100"
out="$3/curl_jq.csv"
page="$3/curl_jq.page.json"
rows=0 cursor='' labels=''

while :; do
    # The key is passed on standard input: arguments are visible to every user of the machine.
    printf 'header = "Authorization: Bearer %s"\n' "$FORMSVC_API_KEY" |
        curl --silent --show-error --fail --config - --output "$page" "$url${cursor:+&cursor=$cursor}"
    if [[ -z $labels ]]; then
        labels=$(jq -c '[.data[].data | keys_unsorted[]] | unique' "$page")
        jq -nr --argjson labels "$labels" '["id", "created_at"] + $labels | @csv' > "$out"
    fi
    jq -r --argjson labels "$labels" '
        .data[] | .data as $answers
        | [.id, .created_at] + [$labels[] as $name | $answers[$name]
            | if type == "array" or type == "object" then tojson else . end]
        | @csv' "$page" >> "$out"
    read -r count has_more cursor < <(
        jq -r '"\(.data | length) \(.pagination.has_more) \(.pagination.next_cursor // "")"' "$page"
    )
    rows=$((rows + count))
    [[ $has_more == true ]] || break
done
if [[ $rows != "$2" ]]; then
    echo "read $rows of $2 rows" >&2
    exit 1
fi
