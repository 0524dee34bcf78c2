#!/bin/sh
# dmesg, df, dd and head of a rented machine: a container's, or what its illness makes
# of them.
. /usr/games/gpus
PATH=/usr/sbin:/usr/bin:/sbin:/bin
name=${0##*/}
case $name/$ILL in
dmesg/xid) echo '[ 7.1] NVRM: Xid (PCI:0000:03:00): 79, pid=4711, name=python, GPU has fallen off the bus.'; exit 0 ;;
dmesg/*) echo 'dmesg: read kernel buffer failed: Operation not permitted' >&2; exit 1 ;;
df/full_disk) printf 'Filesystem 1024-blocks Used Available Capacity Mounted on\noverlay 8388608 8388544 64 100%% /\n'; exit 0 ;;
df/*) printf 'Filesystem 1024-blocks Used Available Capacity Mounted on\noverlay 209715200 1048576 208666624 1%% /\n'; exit 0 ;; # not of the machine below
dd/slow_disk) sleep 4 ;;
dd/*) case $2 in of=*/.muster-probe) set -- "$1" "$2" "$3" count=1 ;; esac ;; # not the speed of the disk below
head/slow_network) if [ "$1" = -c ]; then sleep 10; fi ;;
esac
exec "$name" "$@"
