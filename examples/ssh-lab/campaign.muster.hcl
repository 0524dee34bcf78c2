# A sweep on a lab's machine over ssh, and its summary on this one: twelve
# estimates of pi by throwing points, their files checked where they lie, and
# copied here for the one job that reads them all. The host needs a shell and
# awk, and with -var gpus=1 a GPU for each job.

campaign "ssh-lab" {
  description = "12 jobs on a host over ssh, summed up here"
}

variable "host" {
  type        = string
  default     = "lab1"
  description = "Name or address of the host, or its alias in ~/.ssh/config"
}

variable "gpus" {
  type        = number
  default     = 0
  description = "GPUs of a job; each is given to one job at a time, and one that somebody else uses is waited for"
}

backend "ssh" "lab" {
  host         = var.host
  workdir      = "~/muster/ssh-lab" # on the host; made when needed
  gpu_free_max = "500MiB"           # a GPU with at most this much memory in use counts as free
}

source { include = ["*.awk"] } # shipped to the host, and part of what a job is

grid "points" {
  axes = {
    n    = [1000, 10000, 100000]
    seed = [1, 2, 3, 4]
  }
}

phase "estimate" {
  grid = grid.points
  place { candidates = [backend.ssh.lab] }
  params = { share = 1 }
  job {
    name    = "pi-${cell.n}-${cell.seed}"
    command = "awk -v n=${cell.n} -v seed=${cell.seed} -v share=${param.share} -f pi.awk > ${output.estimate}"
    resources {
      cpus     = 1
      gpus     = var.gpus
      disk     = "1MiB"
      walltime = "2m"
    }
    output "estimate" {
      path   = "estimates/n${cell.n}-seed${cell.seed}.json"
      verify = "json"
    }
    metric "pi" {
      output = "estimate"
      json   = "/pi"
    }
  }

  # The smallest and the largest with a hundredth of the points, before all others.
  smoke {
    params   = { share = 0.01 }
    walltime = "1m"
    cells    = "ends"
    expect {
      condition = metric.pi > 1 && metric.pi <= 4
      message   = "that is not pi"
    }
  }

  retry {
    on           = ["oom", "gpu_lost", "node_failure"]
    max_attempts = 3
    delay        = "120s"
  }
}

phase "summary" {
  place { candidates = [backend.local.local] }
  job {
    command = "xargs awk -f mean.awk < ${input_file.estimates} > ${output.table}"
    input "estimates" { from_all = phase.estimate.output.estimate }
    resources { walltime = "1m" }
    output "table" {
      path   = "summary.csv"
      verify = "csv"
    }
  }
}

result "pi" { value = sum(values(phase.estimate.metric.pi)) / length(phase.estimate.metric.pi) }
