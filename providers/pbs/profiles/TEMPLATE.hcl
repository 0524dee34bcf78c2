# A site's facts, as data: what a PBS server does not tell by itself, and what is
# planned with while it cannot be asked.
#
# 1. Copy this file beside your campaign, as site.hcl say, and name it in the
#    backend block: `profile = "site.hcl"`. A name that ends in .hcl is a file,
#    from the campaign's folder.
# 2. Fill in what you know, and take out what you do not: what is left out is
#    unknown. Only site, verified, max_time of a queue, count of a gpu and after or
#    at of a clock must be there.
# 3. `muster backends` reads it, and tells each mistake with its line.
# 4. To ship it with muster, put it into providers/pbs/profiles as NAME.hcl: then it
#    is `profile = "NAME"` in every campaign. `go test` there reads it.
#
# Live limits of the server win over those written here.
#
# Durations are "24h", "90m" or "7d"; sizes "40GiB" (powers of 1024) or "256GB"
# (powers of 1000); amounts text or numbers. A line that begins with # is left out.

site     = "University, Cluster" # for people: as the site calls itself
verified = "2026-05"             # the month in which this was last compared with the site; plans warn half a year later

# What every job must say, or the site refuses it: a plan without it fails.
requires = ["account", "filesystems"] # attributes of the backend block

chunk      = "system=name" # what each chunk of select has besides ncpus, mem and ngpus
place      = "scatter"     # for jobs whose options name no place
whole_node = true          # jobs get whole nodes: select says how many, and nothing of cores or memory
pack       = "auto"        # jobs that need a part of a node share one, where whole nodes are charged; "never" if left out

# Where the scratch of jobs is, and where no output may be: a folder on the nodes' own disks.
# scratch = "/local/scratch" # wiped after each job; it may name variables of one

# Variables of every job, beneath those of the backend block and of the job itself.
env = { https_proxy = "http://proxy.example.edu:3128" } # nodes reach the internet by it

# What is left of the account in service units: a command on the login node whose output is one
# number, or one a line, which are added. ACCOUNT is replaced by the backend's account.
# balance = ["sbank-list-allocations", "-p", "ACCOUNT"] # left out: the backend block may state it

# What the site charges, in its service units; rates that stand together are added.
service_units_per_node_hour = "1"
# service_units_per_cpu_hour = "1"
# service_units_per_gpu_hour = "1"

# What the site deletes, closes or ends: any number of these. A plan that lasts longer says so.
clock "the allocation ends" {
  at = "2027-09-30" # a day, or a time as "2027-09-30T12:00:00Z"
}
clock "files on scratch are purged" {
  after = "90d" # since the last use
}

# The nodes of the machine. `pbsnodes -a` lists them.
node {
  count  = 560
  cpus   = 32
  memory = "512GB"
  gpu "A100" {        # the model, as people write it: what a campaign asks for
    count  = 4        # of one node; must be there
    memory = "40GiB"  # of one device
  }
}

# One block for each queue to which people submit. `qstat -Qf` lists them.
queue "prod" {
  nodes      = 496   # that it has; all of the machine if left out
  min_nodes  = 10    # least nodes of one job
  max_nodes  = 496   # most nodes of one job; all of them if left out
  min_time   = "5m"  # the shortest walltime that it takes
  max_time   = "24h" # the longest; must be there
  max_run    = 10    # most of your jobs that run at once
  max_queued = 100   # most of your jobs, queued or running
  notes      = ["waits are long on Mondays"] # anything that a plan should say about it
}

queue "preemptable" {
  max_nodes   = 10
  max_time    = "72h"
  preemptable = true # jobs are killed for others and put back: they are submitted with -r y
}

# A queue for smokes. A smoke on it counts for the queues that it stands for.
queue "debug" {
  max_nodes  = 2
  max_time   = "1h"
  testing    = true
  stands_for = ["prod", "preemptable"]
}

queue "demand" {
  max_time   = "1h"
  by_request = true # the site opens it for those who ask: no job goes there unless its options name it
}
