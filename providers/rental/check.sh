#!/bin/sh
# Prints what a machine has, for check.go: a word and a value on each line.
# check.sh FOLDER GPUS SAMPLES PROGRAM…: a folder on the disk that jobs use, how many
# GPUs there should be, how often to look at their heat, and programs it needs.
folder=$1 gpus=$2 samples=$3
shift 3
for program; do command -v "$program" >/dev/null 2>&1 || echo "lacks $program"; done
if [ "$gpus" -gt 0 ]; then
  list=$(nvidia-smi --query-gpu=name,memory.total,driver_version --format=csv,noheader,nounits 2>&1)
  echo "smi $?"
  printf '%s\n' "$list" | sed 's/^/gpu /'
  nvidia-smi 2>/dev/null | sed -n 's/.*CUDA[A-Za-z ]*Version *: *\([0-9][0-9.]*\).*/cuda \1/p' | head -n 1
  while [ "$samples" -gt 0 ]; do
    nvidia-smi --query-gpu=index,temperature.gpu,clocks.sm,clocks.max.sm --format=csv,noheader,nounits 2>/dev/null | sed 's/^/heat /'
    samples=$((samples - 1))
    [ "$samples" -eq 0 ] || sleep 1
  done
  if log=$(dmesg 2>/dev/null); then
    printf '%s\n' "$log" | sed -n 's/.*NVRM: Xid ([^)]*): *\([0-9][0-9]*\).*/xid \1/p' | sort -u
  else
    echo "xid unreadable"
  fi
fi
mkdir -p "$folder" || exit 1
# shellcheck disable=SC2046 # the fields of a line
set -- $(df -Pk "$folder" | tail -n 1)
echo "free $4"
began=$(cut -d' ' -f1 /proc/uptime)
if dd if=/dev/zero of="$folder/.muster-probe" bs=1048576 count=64 conv=fsync 2>/dev/null; then
  echo "wrote $began $(cut -d' ' -f1 /proc/uptime)"
else
  echo "wrote nothing"
fi
rm -f "$folder/.muster-probe"
