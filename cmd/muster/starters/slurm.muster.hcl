# Teachers and students on a Slurm cluster: run muster on a login node, or name
# one in ssh below.
#
#   muster backends             the cluster's partitions and your limits
#   muster plan -show-scripts   the scripts, and their time
#   muster apply -detach        submit everything: the cluster finishes it with muster off
#   muster status -refresh      the progress; muster apply -once records it
#   muster cancel 'phase.*'     stop it; nothing starts again by itself

campaign "slurm-sweep" {}

backend "slurm" "cluster" {
  workdir = "~/muster/slurm-sweep" # on a filesystem of login and compute nodes; on many sites "/scratch/…/me/slurm-sweep"
  # account    = "ucb123"              # the charged account; by default yours
  # partitions = ["aa100", "al40"]     # in order of preference; by default all that you may use
  # setup      = "module load cuda"
  # ssh { host = "login.example.edu" } # from your own machine; workdir is a path on that host
}

# Your code. muster ships it; its content determines results, and jobs start in a
# read-only copy of these files: list every file that the program opens or imports.
# source { include = ["**/*.py"] }

grid "sweep" {
  axes = {
    width = [128, 256]
    seed  = range(1, 6)
  }
}

phase "teachers" {
  grid = grid.sweep
  place { candidates = [backend.slurm.cluster] }
  max_parallel = 5 # sbatch --array=0-9%5
  job {
    # Replace this with your own program; ${output.weights} is where it must write.
    command = "sleep 5; printf '{\"width\": %s, \"seed\": %s}\\n' ${cell.width} ${cell.seed} > ${output.weights}"
    resources {
      # gpus   = 1
      cpus     = 1
      memory   = "1GiB"
      walltime = "10m"
    }
    output "weights" {
      path   = "teachers/width${cell.width}-seed${cell.seed}.json"
      verify = "json" # checked on the node: half a file does not release a student
    }
  }
  retry {
    on           = ["preempted", "node_failure"]
    max_attempts = 3
  }
}

phase "students" {
  grid = grid.sweep
  place { candidates = [backend.slurm.cluster] }
  job {
    command = "cp ${input.weights} ${output.result}"
    input "weights" { from = phase.teachers.output.weights } # each after its own teacher
    resources {
      cpus     = 1
      memory   = "1GiB"
      walltime = "10m"
    }
    output "result" {
      path   = "students/width${cell.width}-seed${cell.seed}.json"
      verify = "json"
    }
  }
}
