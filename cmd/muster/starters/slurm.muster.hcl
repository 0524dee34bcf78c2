# Teachers and students on a Slurm cluster: run muster on a login node, or name
# one in ssh below.
#
#   muster backends             what the cluster has, and what it lets you do
#   muster plan -show-scripts   what would be submitted, and how long it may take
#   muster apply -detach        hand it over: the cluster finishes it with muster off
#   muster status -refresh      what became of it; muster apply -once records it
#   muster cancel 'phase.*'     stop it; nothing starts again by itself

campaign "slurm-sweep" {}

backend "slurm" "cluster" {
  workdir = "~/muster/slurm-sweep" # where login and compute nodes see it; on many sites "/scratch/…/me/slurm-sweep"
  # account    = "ucb123"              # what is charged; your default account if there is one
  # partitions = ["aa100", "al40"]     # in the order of preference; all that you may use by default
  # setup      = "module load cuda"
  # ssh { host = "login.example.edu" } # from your own machine; workdir is then a path there
}

# Your code. It is shipped, its content becomes part of what a job is, and jobs begin
# in a read-only copy of these files: list all that they open or import beside the program.
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
      verify = "json" # opened on the node: half a file does not release a student
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
