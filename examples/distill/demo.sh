#!/bin/sh
# Plans and applies this campaign, then reports. Run it again: there is
# nothing left to do. $1 is the muster binary.
set -eu
muster=${1:-muster}
cd "$(dirname "$0")"
unset CI # a person watches
"$muster" apply -auto-approve # shows the plan first
"$muster" report
"$muster" cost
