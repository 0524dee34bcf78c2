# A sweep on the GPUs of this machine: one job a GPU, a smoke before the
# fan-out, a retry on another GPU after running out of memory.
#
#   muster backends  the GPUs, free or in use
#   muster plan      the jobs that would run, and their time
#   muster apply     runs them; interrupt it at any time, the same command continues

campaign "gpu-sweep" {}

backend "local" "local" {
  gpu_free_max = "500MiB" # a GPU with at most this much memory in use counts as free
}

# Your code. Its content determines results, and jobs start in a read-only copy of
# these files: list every file that the program opens or imports.
# source { include = ["**/*.py"] }

grid "sweep" {
  axes = {
    lr   = [0.001, 0.0003]
    seed = [1, 2, 3]
  }
}

phase "train" {
  grid   = grid.sweep
  params = { steps = 10000 }
  place { candidates = [backend.local.local] }
  job {
    command = "python train.py --lr ${cell.lr} --seed ${cell.seed} --steps ${param.steps} --out ${output.model} --log ${output.log}"
    resources {
      gpus     = 1
      cpus     = 4
      walltime = "4h"
    }
    output "model" {
      path   = "models/lr${cell.lr}-seed${cell.seed}.safetensors"
      verify = "safetensors"
    }
    output "log" {
      path   = "logs/lr${cell.lr}-seed${cell.seed}.json"
      verify = "json"
    }
    metric "loss" {
      output = "log"
      json   = "/loss"
    }
  }
  smoke {
    params   = { steps = 50 }
    walltime = "10m"
    cells    = "first"
    expect {
      condition = metric.loss < 100
      message   = "the loss diverged in the smoke"
    }
  }
  retry {
    on           = ["oom", "gpu_lost"]
    max_attempts = 2
    delay        = "60s"
  }
}
