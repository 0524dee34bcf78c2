# ALCF: Crux. PBS Pro.
# Queues, limits and charges from the site's pages, of the month below.

site     = "ALCF Crux"
verified = "2026-05"

requires   = ["account", "filesystems"]
chunk      = "system=crux"
place      = "scatter"
whole_node = true
pack       = "auto"
balance    = ["sbank-list-allocations", "-p", "ACCOUNT", "-r", "crux", "-f", "available_balance", "--no-header", "--no-totals", "--no-history", "--no-sys-msg"]

env = { # compute nodes reach the internet by this proxy only
  http_proxy  = "http://proxy.alcf.anl.gov:3128"
  https_proxy = "http://proxy.alcf.anl.gov:3128"
}

service_units_per_node_hour = "1" # node-hours, whatever is used of the node

node {
  count  = 256
  cpus   = 128
  memory = "256GB"
}

queue "debug" {
  nodes      = 8
  max_nodes  = 8
  min_time   = "5m"
  max_time   = "2h"
  testing    = true
  stands_for = ["workq-route", "preemptable", "demand"]
}

queue "workq-route" {
  max_nodes  = 184
  min_time   = "5m"
  max_time   = "24h"
  max_run    = 10
  max_queued = 20
  notes      = ["routes jobs to queues by their nodes and walltime; a project may have 100 jobs"]
}

queue "preemptable" {
  max_nodes   = 10
  min_time    = "5m"
  max_time    = "72h"
  preemptable = true
}

queue "demand" {
  max_nodes  = 64
  max_time   = "1h"
  by_request = true
}
