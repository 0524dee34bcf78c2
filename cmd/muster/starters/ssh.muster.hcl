# A sweep on a Linux host that you reach with `ssh NAME`.
#
#   muster backends -var host=NAME   can it be reached, and what has it got
#   muster plan     -var host=NAME   what would be done, and how long it may take
#   muster apply    -var host=NAME   do it; close the lid as you like, the host goes on
#   muster pull     -var host=NAME   the results, each checked by digest

variable "host" {
  type        = string
  description = "Name or address of the host, or its alias in ~/.ssh/config"
}

campaign "ssh-sweep" {}

backend "ssh" "lab" {
  host    = var.host
  workdir = "~/muster/ssh-sweep" # on the host; made when needed
  # gpus         = [0, 1, 2, 3]  # which ones may be used; all by default
  # gpu_free_max = "500MiB"      # a GPU with at most this much memory in use counts as free
  # setup        = ". ~/miniconda3/etc/profile.d/conda.sh && conda activate train"
}

# Your code. It is shipped, its content becomes part of what a job is, and jobs begin
# in a read-only copy of these files: list all that they open or import beside the program.
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
