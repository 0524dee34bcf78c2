# A site's facts, as data: what a cluster does not tell by itself, and what is
# planned with while it cannot be asked.
#
# 1. Copy this file beside your campaign, as site.hcl say, and name it in the
#    backend block: `profile = "site.hcl"`. A name that ends in .hcl is a file,
#    from the campaign's folder.
# 2. Fill in what you know, and take out what you do not: what is left out is
#    unknown. Only site, verified, max_time of a partition, count of a gpu and
#    after or at of a clock must be there. The commands named below say most of it;
#    the site's own pages say the rest (charges, purges, the memory of a GPU).
# 3. `muster backends` reads it, tells each mistake with its line, and shows the
#    facts beside what the cluster says.
# 4. To ship it with muster, put it into providers/slurm/profiles as NAME.hcl:
#    then it is `profile = "NAME"` in every campaign. `go test` there reads it.
#
# Live answers of the cluster win over all that is written here; `muster backends`
# says which facts are whose, and where the two differ.
#
# Durations are "24h", "90m" or "7d"; sizes "40GiB" (powers of 1024) or "256GB"
# (powers of 1000); amounts text or numbers. A line that begins with # is left out.

site     = "University, Cluster" # for people: as the site calls itself
verified = "2026-05"             # the month in which this was last compared with the site; plans warn half a year later

# Where the scratch of jobs is, and where no output may be: a folder on the nodes' own disks.
# scratch = "$SLURM_SCRATCH" # wiped after each job; it may name variables of one

# What is left of the account in service units: a command on the login node whose output is one
# number, or one a line, which are added. ACCOUNT is replaced by the backend's account.
# balance = ["site-balance", "-A", "ACCOUNT"] # left out: the backend block may state it

# What the site deletes, closes or ends: any number of these. A plan that lasts longer says so.
clock "files on /scratch are purged" {
  after = "90d" # since the last use
}
clock "the allocation ends" {
  at = "2027-09-30" # a day, or a time as "2027-09-30T12:00:00Z"
}

# pack = "auto" # jobs that need a part of a node share one, on partitions with whole_node; "never" if left out

# One block for each partition. `sinfo -o "%P %D %c %m %G %l"` lists name, nodes,
# cores, memory (in MB), GPUs and longest time; `scontrol show partition` the rest.
partition "gpu" {
  nodes     = 10      # in all
  cpus      = 64      # cores of one node
  memory    = "512GB" # of one node
  max_time  = "24h"   # the longest walltime (MaxTime); must be there
  max_nodes = 4       # most nodes of one job (MaxNodes); all of them if left out
  notes     = ["waits are long on Mondays"] # anything that a plan should say about it

  # Without this block the partition has no GPUs.
  gpu "A100" {        # the model, as people write it: what a campaign asks for
    count  = 4        # of one node; must be there
    memory = "40GiB"  # of one device; Slurm does not tell it
    total  = 40       # in the whole partition
    # class = "A100"  # its family, where the model does not say it; smokes on a slice count for the family
  }

  # What the site charges, in its service units. Rates that stand together are
  # added up. Without a rate the partition is free where no other one has any;
  # beside some that have, what it charges is unknown: write 0 where it is free.
  price {
    service_units_per_gpu_hour = "100" # for each GPU that a job has
    # service_units_per_node_hour = "64" # for each node
    # service_units_per_cpu_hour = "1" # for each core
    # service_units_per_billing_hour = "1" # for each unit of Slurm's billing TRES; the cluster tells its weights (TRESBillingWeights)
    # whole_node = true # jobs are charged for whole nodes, whatever they use of them
  }
}

# A partition for smokes. A smoke on it counts for the partitions that it stands
# for: same software, same family of devices.
partition "gpu-testing" {
  max_time   = "1h"
  testing    = true    # for tests only: no other jobs go there
  stands_for = ["gpu"] # the partitions for which a smoke on it counts
  gpu "A100" {
    count  = 1
    memory = "20GB" # a slice
    class  = "A100"
  }
  price {
    service_units_per_gpu_hour = "100"
  }
}

# One block for each quality of service that people use; `sacctmgr show qos
# format=name,maxwall,maxsubmitpu` lists them. They count where the cluster does
# not let accounting be asked.
qos "normal" {
  max_time   = "24h" # the longest walltime under it (MaxWall)
  max_submit = 1000  # most jobs of one user, queued or running (MaxSubmitPU)
  default    = true  # under which jobs run that name none: one of them has this
}

qos "testing" {
  max_time = "1h"
  only     = ["gpu-testing"]           # the partitions that it is for; all if left out
  note     = "chosen by itself there" # anything to know about it
}
