#!/bin/sh
# nvidia-smi of a rented machine: what its offer says, and nothing runs on it.
. /usr/games/gpus
if [ "$COUNT" -eq 0 ]; then
  echo "No devices were found"
  exit 6
fi
if [ "$ILL" = lost_gpu ]; then
  echo 'Unable to determine the device handle for GPU0000:03:00.0: GPU is lost.  Reboot the system to recover this GPU'
  exit 15
fi
if [ "$ILL" = old_driver ]; then DRIVER=470.82.01 CUDA=11.4; fi
heat=41 clock=210
if [ "$ILL" = hot ]; then heat=91 clock=300; fi
if [ $# -eq 0 ]; then echo "| NVIDIA-SMI $DRIVER             Driver Version: $DRIVER     CUDA Version: $CUDA     |"; fi
ask() {
  i=0
  while [ "$i" -lt "$COUNT" ]; do
    row=
    for field in $(echo "$1" | tr , ' '); do
      case $field in
      index) v=$i ;;
      uuid | gpu_uuid) v=$UUID-$(printf %012d "$i") ;;
      name | gpu_name) v=$NAME ;;
      memory.total) v=$MIB ;;
      memory.used) v=3 ;;
      memory.free) v=$((MIB - 3)) ;;
      mig.mode.current) v=Disabled ;;
      utilization.gpu | ecc.errors.uncorrected.volatile.total) v=0 ;;
      driver_version) v=$DRIVER ;;
      temperature.gpu) v=$heat ;;
      clocks.sm) v=$clock ;;
      clocks.max.sm) v=2520 ;;
      *) printf 'Field "%s" is not a valid field to query.\n\n' "$field"; exit 2 ;;
      esac
      row=${row:+$row, }$v
    done
    echo "$row"
    i=$((i + 1))
  done
}
for arg; do
  case $arg in
  -L) i=0; while [ "$i" -lt "$COUNT" ]; do echo "GPU $i: $NAME (UUID: $UUID-$(printf %012d "$i"))"; i=$((i + 1)); done ;;
  --query-gpu=*) ask "${arg#*=}" ;;
  esac
done
