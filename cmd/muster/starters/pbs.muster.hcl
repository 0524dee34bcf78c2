# Replicas and their analysis on a PBS cluster, Polaris here: run muster on a login
# node, or name one in ssh below.
#
#   muster backends             the queues, and what they take
#   muster plan -show-scripts   what would be submitted, and what it may cost
#   muster apply -detach        submit all of it: the cluster finishes it with muster off
#   muster status -refresh      what became of it; muster apply -once records it
#   muster cancel 'phase.*'     stop it; nothing starts again by itself

campaign "pbs-replicas" {}

backend "pbs" "polaris" {
  workdir     = "~/muster/pbs-replicas" # where login and compute nodes see it: "/eagle/MyProject/me/replicas"
  profile     = "alcf-polaris"          # or "alcf-crux", or "site.hcl" beside this file; without it the server's queues
  account     = "MyProject"             # qsub -A
  filesystems = "home:eagle"            # qsub -l filesystems
  # queues    = ["preemptable"]         # in the order of preference; all that take a job by default
  # setup     = "module load conda; conda activate"
  # ssh { host = "polaris.alcf.anl.gov" } # from your own machine; workdir is then a path there
}

# Your code. It is shipped, its content becomes part of what a job is, and jobs begin
# in a read-only copy of these files: list all that they open or import beside the program.
# source { include = ["**/*.py"] }

phase "replicas" {
  grid { axes = { seed = range(1, 6) } }
  place { candidates = [backend.pbs.polaris] }
  max_parallel = 2 # qsub -J 0-4%2
  job {
    # Replace this with your own program; ${output.energy} is where it must write.
    command = "sleep 5; printf '{\"seed\": %s}\\n' ${cell.seed} > ${output.energy}"
    resources {
      cpus     = 32
      gpus     = 4 # a node of Polaris is charged as a whole
      walltime = "10m"
    }
    output "energy" {
      path   = "replicas/seed${cell.seed}.json"
      verify = "json" # opened on the node: half a file does not release the analysis
    }
  }
  retry {
    on           = ["preempted", "node_failure"]
    max_attempts = 3
  }
}

phase "analysis" {
  place { candidates = [backend.pbs.polaris] }
  job {
    command = "cat ${input.energies} > ${output.summary}"
    input "energies" { from_all = phase.replicas.output.energy } # after all replicas
    resources {
      cpus     = 1
      walltime = "10m"
    }
    output "summary" {
      path   = "summary.txt"
      verify = "nonempty"
    }
  }
}
