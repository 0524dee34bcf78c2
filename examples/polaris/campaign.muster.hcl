# Twenty replicas of a simulation on ALCF's Polaris: four replicas share a node,
# each on a GPU of its own, and five nodes run at once.
#
#   muster plan -show-scripts   what qsub gets, and the node-hours it may cost

campaign "replicas" {
  description = "20 replicas of 12.5 ns on Polaris"
}

variable "account" {
  type        = string
  default     = "MyProject"
  description = "ALCF project that is charged"
}

backend "pbs" "polaris" {
  profile     = "alcf-polaris"
  account     = var.account
  filesystems = "home:eagle"
  workdir     = "/eagle/${var.account}/replicas"
}

budget "allocation" {
  limits     = { service_units = 100 } # node-hours
  applies_to = [backend.pbs.polaris]
}

source {
  include = ["four.sh"]
}

phase "md" {
  grid { axes = { node = range(1, 6) } }
  place { candidates = [backend.pbs.polaris] }
  job {
    name    = "md-${cell.node}"
    command = "sh four.sh ${cell.node} ${output.energies}"
    resources {
      cpus = 32
      gpus = 4
      gpu { models = ["A100"] }
      walltime = "3h"
    }
    output "energies" {
      path   = "md/node${cell.node}.csv"
      verify = "nonempty"
    }
  }
  retry {
    on           = ["preempted", "node_failure"]
    max_attempts = 3
  }
}

phase "summary" {
  place { candidates = [backend.pbs.polaris] }
  job {
    command = "cat ${input.energies} > ${output.all}"
    input "energies" { from_all = phase.md.output.energies }
    resources {
      cpus     = 1
      walltime = "10m"
    }
    output "all" {
      path   = "energies.csv"
      verify = "nonempty"
    }
  }
}
