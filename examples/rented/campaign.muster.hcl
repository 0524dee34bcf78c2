# A sweep on machines rented at Vast.ai, from a check here that costs nothing to a table
# here that needs no machine any more. What it may cost is limited four times: by the
# price of a machine, the count of machines, the walltime of jobs, and the budget.

campaign "rented" {
  description = "4 seeds on rented GPUs, summed up here"
}

variable "seeds" {
  type        = number
  default     = 4
  description = "How many seeds"
}

backend "vastai" "cloud" {
  image            = "pytorch/pytorch:2.8.0-cuda12.6-cudnn9-runtime"
  gpu              = ["RTX 4090", "RTX 5090"]
  disk             = "20GB"
  max_usd_per_hour = 0.70 # with the disk: nothing dearer is rented
  max_boxes        = 2    # machines at once
  reliability      = 0.95
  workdir          = "/root/work"
  hold             = "10m"     # how long a machine waits for another job
  on_hold          = "release" # what happens then, if every result is here
}

budget "money" {
  limits  = { usd = 5 }
  warn_at = 0.8
}

source { include = ["*.awk"] }

# The same program in short, here, before anything is rented.
phase "check" {
  place { candidates = [backend.local.local] }
  job {
    command = "awk -v seed=1 -v n=1000 -f pi.awk > ${output.estimate}"
    resources { walltime = "1m" }
    output "estimate" {
      path   = "check.json"
      verify = "json"
    }
    metric "pi" {
      output = "estimate"
      json   = "/pi"
    }
  }
}

grid "seeds" { axes = { seed = range(1, var.seeds + 1) } }

phase "estimate" {
  grid       = grid.seeds
  depends_on = [phase.check]
  place { candidates = [backend.vastai.cloud] }
  job {
    command = "nvidia-smi -L && awk -v seed=${cell.seed} -v n=2000000 -f pi.awk > ${output.estimate}"
    resources {
      gpus     = 1
      walltime = "10m"
    }
    output "estimate" {
      path   = "estimates/seed${cell.seed}.json"
      verify = "json"
    }
    metric "pi" {
      output = "estimate"
      json   = "/pi"
    }
  }
  retry {
    on           = ["preempted", "node_failure", "gpu_lost"]
    max_attempts = 2
    delay        = "10s"
  }
}

phase "table" {
  place { candidates = [backend.local.local] }
  job {
    command = "xargs cat < ${input_file.estimates} > ${output.table}"
    input "estimates" { from_all = phase.estimate.output.estimate }
    resources { walltime = "1m" }
    output "table" {
      path   = "table.txt"
      verify = "nonempty"
    }
  }
}

result "pi" { value = sum(values(phase.estimate.metric.pi)) / length(phase.estimate.metric.pi) }
