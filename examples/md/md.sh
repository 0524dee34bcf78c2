#!/bin/sh
# A stand-in for an MD program: it writes the files that one would write, and takes no time.
# Replace its calls in campaign.muster.hcl by your own, `gmx mdrun` for example.
set -eu
stage=$1
shift
case $stage in
check) # STRUCTURE
  atoms=$(sed -n 2p "$1")
  echo "input of $atoms atoms"
  ;;
run) # NS TRAJECTORY LOG [CHECKPOINT]
  step=0
  [ -z "${4:-}" ] || [ ! -s "${4:-}" ] || step=$(cat "$4") # continue where the last launch was
  [ -z "${4:-}" ] || echo "$1" >"$4"
  echo "frames from $step to $1 ns" >"$2"
  echo "energy = -1234.5" >"$3"
  ;;
extract) # COUNT TRAJECTORY FOLDER
  mkdir -p "$3"
  i=0
  while [ $i -lt "$1" ]; do
    i=$((i + 1))
    echo "frame $i of $(cat "$2")" >"$3/frame-$i.gro"
  done
  ;;
analyse) # FILE that lists logs
  while read -r log; do
    echo "${log##*/},$(sed -n 's/energy = //p' "$log")"
  done <"$1"
  ;;
esac
