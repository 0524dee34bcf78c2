# ALCF: Polaris. PBS Pro.
# Queues, limits and charges from the site's pages, of the month below.

site     = "ALCF Polaris"
verified = "2026-05"

requires   = ["account", "filesystems"]
chunk      = "system=polaris"
place      = "scatter"
whole_node = true
pack       = "auto"
scratch    = "/local/scratch"
balance    = ["sbank-list-allocations", "-p", "ACCOUNT", "-r", "polaris", "-f", "available_balance", "--no-header", "--no-totals", "--no-history", "--no-sys-msg"]

env = { # compute nodes reach the internet by this proxy only
  http_proxy  = "http://proxy.alcf.anl.gov:3128"
  https_proxy = "http://proxy.alcf.anl.gov:3128"
}

service_units_per_node_hour = "1" # node-hours, whatever is used of the node

node {
  count  = 560
  cpus   = 32
  memory = "512GB"
  gpu "A100" {
    count  = 4
    memory = "40GiB"
  }
}

queue "debug" {
  nodes      = 8
  max_nodes  = 2
  min_time   = "5m"
  max_time   = "1h"
  testing    = true
  stands_for = ["prod", "preemptable", "capacity", "debug-scaling", "demand"]
}

queue "debug-scaling" {
  max_nodes = 10
  min_time  = "5m"
  max_time  = "1h"
  max_run   = 1
}

queue "prod" {
  min_nodes = 10
  max_nodes = 496
  min_time  = "5m"
  max_time  = "24h"
  max_run   = 10
  max_queued = 100
  notes     = ["routes jobs to queues by their nodes and walltime; its limits are those of a project"]
}

queue "preemptable" {
  max_nodes   = 10
  min_time    = "5m"
  max_time    = "72h"
  max_queued  = 20
  preemptable = true
}

queue "capacity" {
  max_nodes = 4
  min_time  = "5m"
  max_time  = "168h"
  max_run   = 1
  notes     = ["32 nodes for all of its jobs"]
}

queue "demand" {
  max_nodes  = 56
  max_time   = "1h"
  by_request = true
}
