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

config=$1 runs=${2%/} date=${3:-$(date -u +%F)}
name=$(basename "$config" .toml)
output=$runs/$date/$name
liangchi=${LIANGCHI:-liangchi} tries=${TRIES:-3} pause=${PAUSE:-600}
state=${STATE:-${XDG_RUNTIME_DIR:-/tmp}}/liangchi-$(id -u)

mkdir -p -m 700 "$state"
[ -O "$state" ] || { echo "$state belongs to somebody else" >&2; exit 2; }

# One start a night at a time on this machine: --overwrite below would take the folder from it.
exec 9>"$state/$name-$date.lock"
flock -n 9 || { echo "$output: being done by another start" >&2; exit 0; }

if "$liangchi" show "$output" >/dev/null 2>&1; then
  echo "$output: done already"
  exit 0
fi

settings=$state/$name-$date.toml
sed "s/DATE/$date/g" "$config" >"$settings"

for try in $(seq "$tries"); do
  code=0
  # --overwrite: a try before this one may have been killed. It replaces nothing but that.
  "$liangchi" evaluate --config "$settings" --output "$output" --run_id "$name-$date" \
    --overwrite --quiet 9>&- || code=$?
  case $code in
    1 | 4) [ "$try" -lt "$tries" ] && sleep "$pause" ;; # our fault, or a store that is down
    *) break ;;                                         # fine, below limits, or wrong for good
  esac
done
rm -f "$settings"
exit "$code"
