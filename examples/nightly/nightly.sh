#!/usr/bin/env bash
# A nightly evaluation from cron, safe to start twice. docs/nightly.md says more.
#
#   15 2 * * *  /opt/liangchi/nightly.sh /etc/liangchi/nightly.toml s3://evaluation/runs
#
# nightly.sh CONFIG RUNS [DATE]
#   CONFIG  what is measured and what is read, as TOML (liangchi config prints one); DATE in the
#           names of its inputs stands for the date
#   RUNS    the folder for the runs of all nights: RUNS/DATE/NAME
#   DATE    of the data, default today in UTC
#
# Exit codes are those of liangchi; 0 also if the night was done already or is being done.
set -euo pipefail

if [ $# -lt 2 ] || [ $# -gt 3 ]; then
  echo "usage: nightly.sh CONFIG RUNS [DATE]" >&2
  exit 2
fi
config=$1 runs=${2%/} date=${3:-$(date -u +%F)}
[[ $date =~ ^[0-9]{4}-[0-9]{2}-[0-9]{2}$ ]] || { echo "$date: expected YYYY-MM-DD" >&2; exit 2; }
[ -r "$config" ] || { echo "$config: no such file" >&2; exit 2; }
name=$(basename "$config" .toml)
output=$runs/$date/$name
liangchi=${LIANGCHI:-liangchi} tries=${TRIES:-3} pause=${PAUSE:-600}
state=${STATE:-${XDG_RUNTIME_DIR:-/tmp}}/liangchi-$(id -u)

mkdir -p -m 700 "$state"
if [ -L "$state" ] || [ ! -O "$state" ]; then
  echo "$state belongs to somebody else" >&2
  exit 2
fi

# One start a folder at a time on this machine: --overwrite below would take it from another. The
# lock is liangchi's too, which may outlive this script.
of_output=$name-$date-$(printf %s "$output" | sha256sum | cut -c 1-12)
exec 9>"$state/$of_output.lock"
flock -n 9 || { echo "$output: being done by another start" >&2; exit 0; }

settings=$state/$of_output.toml
sed "s/DATE/$date/g" "$config" >"$settings"

evaluate() {
  local code=0
  "$liangchi" show "$output" >/dev/null 2>&1 || code=$?
  case $code in
    0) echo "$output: done already" ;;
    # No finished run. --overwrite: a try before this one may have been killed.
    2) "$liangchi" evaluate --config "$settings" --output "$output" --run_id "$name-$date" \
         --overwrite --quiet ;;
    # Who cannot look must not overwrite.
    *) echo "$output: cannot be looked at (exit code $code)" >&2; return "$code" ;;
  esac
}

for try in $(seq "$tries"); do
  code=0
  evaluate || code=$?
  case $code in
    1 | 4) [ "$try" -lt "$tries" ] && sleep "$pause" ;; # our fault, or a store that is down
    *) break ;;                                         # fine, below limits, or wrong for good
  esac
done
rm -f "$settings"
exit "$code"
