# Twenty replicas of a simulation on ALCF's Polaris, which charges whole nodes: four
# replicas share a node, each on a GPU of its own.
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

phase "md" {
  grid { axes = { replica = range(20) } }
  place { candidates = [backend.pbs.polaris] }
  job {
    name    = "md-${cell.replica}"
    command = "echo ${cell.replica},-1234.5 > ${output.energy}" # your program: it sees one GPU
    resources {
      cpus = 8
      gpus = 1
      gpu { models = ["A100"] }
      walltime = "3h"
    }
    output "energy" {
      path   = "md/${cell.replica}.csv"
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
    command = "cat ${input_file.energies} > ${output.all}"
    input "energies" { from_all = phase.md.output.energy }
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
