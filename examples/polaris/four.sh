#!/bin/sh
# Four replicas of one node, each on one GPU; the last line of each is its energy.
set -eu
node=$1 out=$2
for gpu in 0 1 2 3; do
  replica=$(((node - 1) * 4 + gpu))
  # Replace this with your program: it sees one GPU.
  (export CUDA_VISIBLE_DEVICES=$gpu OMP_NUM_THREADS=8; echo "$replica,-1234.5" >"replica$replica.csv") &
done
wait
cat replica*.csv >"$out"
