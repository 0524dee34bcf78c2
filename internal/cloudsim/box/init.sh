#!/bin/bash
# The first process of a box, in namespaces of its own: its end is everything's end.
# init.sh DIR NAME ADDRESS KEPT: DIR holds what the box may write, DIR.kept what is
# in the folder KEPT, if that is not empty.
set -e
dir=$1 name=$2 address=$3 kept=$4
begin() {
  hostname "$name"
  until ip link show eth0 >/dev/null 2>&1; do sleep 0.02; done
  ip link set lo up
  ip addr add "$address/30" dev eth0
  ip link set eth0 up
  cd /root
  /usr/sbin/sshd -f /etc/ssh/box_config -E /var/tmp/sshd.log </dev/null
  # shellcheck disable=SC1091 # written for each start
  (set -a; . /etc/box-environ; set +a; exec bash /etc/onstart >/var/tmp/onstart.log 2>&1 </dev/null) &
  while :; do sleep 1; done
}
[ "$dir" ] || begin
for mounted in $(awk '{ print $5 }' /proc/self/mountinfo); do
  case $mounted in /proc | /proc/* | /dev | /dev/* | /sys | /sys/*) ;; *) mount -o remount,bind,ro "$mounted" 2>/dev/null || true ;; esac
done
# KEPT is at the top, where this machine may not have it: a root of its own holds both.
new=/mnt
if [ "$kept" ]; then
  mount -t tmpfs -o mode=755 tmpfs "$new"
  mkdir -p "$new$kept"
  mount --bind "$dir.kept" "$new$kept"
  mount -o remount,bind,rw "$new$kept"
fi
mount --bind "$dir/etc" /etc
# /tmp comes last: DIR may be below it.
for pair in root:root home:home srv:srv vartmp:var/tmp bin:usr/games bin:usr/local/sbin tmp:tmp; do
  mount --bind "$dir/${pair%%:*}" "/${pair#*:}"
  mount -o remount,bind,rw "/${pair#*:}"
done
mount -o remount,bind,rw /etc
mount -t tmpfs -o mode=755 tmpfs /run && mkdir -p /run/sshd /run/lock /run/user
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
mount --bind /etc/boot_id /proc/sys/kernel/random/boot_id
# shellcheck disable=SC1091 # written with its disk
if [ "$(. /usr/games/gpus; echo "$ILL")" = no_programs ]; then
  for program in /usr/bin/curl /usr/bin/python3 /usr/bin/python3.[0-9]*; do
    if [ -f "$program" ]; then mount --bind /dev/null "$(readlink -f "$program")"; fi
  done
fi
[ "$kept" ] || begin
for entry in /*; do
  if [ -L "$entry" ]; then
    cp -P "$entry" "$new/"
  elif [ -d "$entry" ] && [ "$entry" != "$new" ] && [ "$entry" != "$kept" ]; then
    mkdir "$new$entry"
    mount --rbind "$entry" "$new$entry"
  fi
done
exec chroot "$new" bash /etc/box-init "" "$name" "$address" ""
