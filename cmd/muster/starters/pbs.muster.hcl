# Replicas and their analysis on a PBS cluster, Polaris here: run muster on a login
# node, or name one in ssh below.
#
#   muster backends             the queues and their limits
#   muster plan -show-scripts   the scripts, and their cost
#   muster apply -detach        submit everything: the cluster finishes it with muster off
#   muster status -refresh      the progress; muster apply -once records it
#   muster cancel 'phase.*'     stop it; nothing starts again by itself

campaign "pbs-replicas" {}

backend "pbs" "polaris" {
  workdir     = "~/muster/pbs-replicas" # on a filesystem of login and compute nodes: "/eagle/MyProject/me/replicas"
  profile     = "alcf-polaris"          # or "alcf-crux", or "site.hcl" beside this file; without it the server's queues
  account     = "MyProject"             # qsub -A
  filesystems = "home:eagle"            # qsub -l filesystems
  # queues    = ["preemptable"]         # in order of preference; by default all that accept a job
  # setup     = "module load conda; conda activate"
  # ssh { host = "polaris.alcf.anl.gov" } # from your own machine; workdir is a path on that host
}

# Your code. muster ships it; its content determines results, and jobs start in a
# read-only copy of these files: list every file that the program opens or imports.
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
      gpus     = 4 # Polaris charges whole nodes
      walltime = "10m"
    }
    output "energy" {
      path   = "replicas/seed${cell.seed}.json"
      verify = "json" # checked on the node: half a file does not release the analysis
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
