# CU Boulder, Research Computing: Alpine. Slurm 24.11.5.
# Limits from `scontrol show partition` and `sacctmgr show qos`; hardware and
# charges from the site's pages, of the month below.

site     = "CU Boulder Alpine"
verified = "2026-05"
scratch  = "$SLURM_SCRATCH" # about 300 GB, until the job ends

clock "files on /scratch/alpine are purged" {
  after = "90d"
}

# ── GPUs ─────────────────────────────────────────────────────────────────
partition "aa100" {
  nodes    = 11
  max_time = "24h"
  notes    = ["long waits at times; al40 takes the overflow"]
  gpu "A100" {
    count  = 3
    memory = "40GiB"
    total  = 33
  }
  # Slices of atesting_a100 are charged alike.
  price {
    service_units_per_gpu_hour = "108.2"
  }
}

partition "atesting_a100" {
  cpus       = 10
  max_time   = "1h"
  max_nodes  = 1
  testing    = true
  stands_for = ["aa100"]
  notes      = ["a MIG slice 3g.20gb of an A100; at most 1 GPU and 10 cores"]
  gpu "A100" {
    count  = 1
    memory = "20GB"
    class  = "A100"
  }
  price {
    service_units_per_gpu_hour = "108.2"
  }
}

partition "al40" {
  nodes    = 3
  max_time = "24h"
  gpu "L40" {
    count = 3
    total = 9
  }
}

partition "ami100" {
  nodes    = 7
  max_time = "24h"
  notes    = ["AMD: only for programs built for the MI100"]
  gpu "MI100" {
    count = 3
    total = 21
  }
}

partition "atesting_mi100" {
  cpus       = 10
  max_time   = "1h"
  max_nodes  = 1
  testing    = true
  stands_for = ["ami100"]
  gpu "MI100" {
    count = 1
  }
}

partition "gh200" {
  max_time = "7d"
  notes    = ["Grace Hopper, ARM cores: software must be built for them"]
  gpu "GH200" {
    count = 1
  }
}

# ── CPUs ─────────────────────────────────────────────────────────────────
partition "amilan" {
  nodes    = 387
  cpus     = 64
  memory   = "256GB"
  max_time = "24h"
  notes    = ["nodes have 32 to 64 cores"]
}

partition "amilan128c" {
  nodes     = 16
  cpus      = 128
  memory    = "256GB"
  max_time  = "24h"
  max_nodes = 1
  notes     = ["waits of hours to days"]
}

partition "amem" {
  nodes    = 24
  memory   = "2TB"
  max_time = "24h"
  notes    = ["needs qos mem and at least 256 GB"]
}

partition "atesting" {
  cpus       = 16
  max_time   = "1h"
  max_nodes  = 2
  testing    = true
  stands_for = ["amilan"]
}

partition "acompile" {
  max_time = "12h"
  notes    = ["for builds"]
}

# ── Quality of service ───────────────────────────────────────────────────
qos "normal" {
  max_time   = "24h"
  max_submit = 1000
  default    = true
}

qos "long" {
  max_time   = "7d"
  max_submit = 200
  note       = "lower priority; only where a restart is impossible"
}

qos "testing" {
  max_time = "1h"
  only     = ["atesting", "atesting_a100", "atesting_mi100"]
  note     = "chosen by itself on the testing partitions"
}

qos "mem" {
  max_time = "24h"
  only     = ["amem"]
}
