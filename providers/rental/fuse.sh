#!/bin/sh
# Ends this machine when its jobs are done and muster has not been heard of for HOLD
# seconds. fuse.sh HOLD STOP RELEASE: the commands that stop and release it. Time is
# the kernel's uptime, which setting a clock does not change.
cd "$HOME/.muster-fuse" || exit 1
hold=$1 stop=$2 release=$3
now() { cut -d. -f1 /proc/uptime; }
last=$(now)
while sleep "${FUSE_BEAT:-5}"; do
  if cat /proc/[0-9]*/environ 2>/dev/null | tr '\0' '\n' | grep -q '^MUSTER_TOKEN='; then last=$(now); fi
  heard=$(cat heard 2>/dev/null) && [ "${heard:-0}" -gt "$last" ] && last=$heard
  [ $(($(now) - last)) -ge "$hold" ] || continue
  if [ -e safe ] && [ -n "$release" ]; then sh -c "$release"; else sh -c "$stop"; fi >>log 2>&1
  sleep 60
done
