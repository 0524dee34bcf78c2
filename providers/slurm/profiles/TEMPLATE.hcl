# A site's facts, as data. Copy this file, name it after the site, and keep
# only what you know: what is left out is unknown, and live answers of the
# cluster win over all of it. Durations are "24h" or "7d", sizes "40GiB" or
# "256GB".

site = "University, Cluster"

# The month in which the facts were last compared with the site. Half a year
# later, plans begin to warn that they are old.
verified = "2026-05"

# Any number: what the site deletes, and how long after its last use.
clock "files on /scratch are purged" {
  after = "90d"
}

# One for each partition; `sinfo -o "%P %D %c %m %G %l"` lists them.
partition "gpu" {
  nodes     = 10      # in all
  cpus      = 64      # of one node
  memory    = "512GB" # of one node
  max_time  = "24h"   # longest walltime; required
  max_nodes = 4       # most nodes of one job; by default all
  notes     = ["anything a plan should say about it"]

  # Without this block the partition has no GPUs.
  gpu "A100" {        # the model, as the field names it
    count  = 4        # of one node
    memory = "40GiB"  # of one device
    total  = 40       # in the partition
  }

  # What the site charges, in its service units, as text so that no digit is
  # lost. Without this block the price is unknown, which a budget in service
  # units will not accept; a free partition has an empty block.
  price {
    service_units_per_gpu_hour = "100"
    # service_units_per_node_hour = "64"
    # service_units_per_cpu_hour  = "1"
    # service_units_per_billing_hour = "1" # for each unit of Slurm's billing TRES; the cluster tells the weights
    # whole_node = true   # whole nodes are charged, whatever is used of them
  }
}

# A partition for smokes. A smoke on it counts for the partitions that it
# stands for: same software, same family of devices.
partition "gpu-testing" {
  max_time   = "1h"
  testing    = true
  stands_for = ["gpu"]
  gpu "A100" {
    count  = 1
    memory = "20GB" # a slice
    class  = "A100" # its family, if the model does not say it
  }
  price {
    service_units_per_gpu_hour = "100"
  }
}

# One for each quality of service; `sacctmgr show qos` lists them.
qos "normal" {
  max_time   = "24h"
  max_submit = 1000 # most jobs of one user, queued or running
  default    = true
}

qos "testing" {
  max_time = "1h"
  only     = ["gpu-testing"] # the partitions it is for; by default all
  note     = "anything a plan should say about it"
}
