# A sweep on a Linux host that you reach with `ssh NAME`.
#
#   muster backends -var host=NAME   the connection, and the host's resources
#   muster plan     -var host=NAME   the jobs that would run, and their time
#   muster apply    -var host=NAME   runs them; close the lid at any time, the host continues
#   muster pull     -var host=NAME   the results, each checked by digest

variable "host" {
  type        = string
  description = "Name or address of the host, or its alias in ~/.ssh/config"
}

campaign "ssh-sweep" {}

backend "ssh" "lab" {
  host    = var.host
  workdir = "~/muster/ssh-sweep" # on the host; made when needed
  # gpus         = [0, 1, 2, 3]  # GPUs to use; all by default
  # gpu_free_max = "500MiB"      # a GPU with at most this much memory in use counts as free
  # setup        = ". ~/miniconda3/etc/profile.d/conda.sh && conda activate train"
}

# Your code. muster ships it; its content determines results, and jobs start in a
# read-only copy of these files: list every file that the program opens or imports.
# source { include = ["**/*.py"] }

grid "sweep" {
  axes = {
    lr   = [0.1, 0.01, 0.001]
    seed = [1, 2]
  }
}

phase "train" {
  grid = grid.sweep
  place { candidates = [backend.ssh.lab] }
  job {
    # Replace this with your own program; ${output.result} is where it must write.
    command = "printf '{\"lr\": %s, \"seed\": %s, \"loss\": %s}\\n' ${cell.lr} ${cell.seed} $(( ${cell.seed} * 10 )) > ${output.result}"
    resources {
      # gpus   = 1
      cpus     = 1
      walltime = "1m"
    }
    output "result" {
      path   = "results/lr${cell.lr}-seed${cell.seed}.json"
      verify = "json"
    }
    metric "loss" {
      output = "result"
      json   = "/loss"
    }
  }
  retry {
    on           = ["oom", "gpu_lost", "node_failure"]
    max_attempts = 2
  }
}
