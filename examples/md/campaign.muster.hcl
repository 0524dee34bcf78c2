# A molecular-dynamics pipeline in nine stages, from a dry run of the input to the analysis of
# twenty replicas, for CU Boulder's Alpine. Run muster on a login node there.
#
#   muster plan                  the smoke, the chain of segments, and what they may cost
#   muster plan -show-scripts    what sbatch gets, and the check list before a run

campaign "md" {
  description = "Equilibrate, decorrelate, and start twenty replicas"
}

variable "account" {
  type        = string
  default     = "ucb-general"
  description = "Slurm account that is charged"
}

variable "workdir" {
  type        = string
  default     = "/scratch/alpine/me/md"
  description = "where the jobs run"
}

variable "keep" {
  type        = string
  default     = "/projects/me/md"
  description = "where results are kept: files on /scratch are deleted after 90 days"
}

backend "slurm" "alpine" {
  profile = "cu-alpine"
  account = var.account
  workdir = var.workdir
  # setup = "module load gromacs"
}

budget "allocation" { limits = { gpu_hours = 600 } }

source { include = ["md.sh", "system.gro"] }

# Stages 1 and 2: a dry run of the input on a core, then the smoke of npt.
phase "check" {
  place { candidates = [backend.slurm.alpine] }
  job {
    command = "sh md.sh check system.gro > ${output.input}"
    output "input" {
      path   = "input.tpr"
      verify = "nonempty"
    }
    resources {
      memory   = "2GiB"
      walltime = "10m"
    }
  }
}

# Stage 3: equilibrate. The smoke runs 0.01 ns on the testing partition, and a NaN in its energy
# holds everything after it.
phase "npt" {
  place { candidates = [backend.slurm.alpine] }
  params = { ns = 20 }
  smoke {
    params   = { ns = 0.01 }
    walltime = "30m"
    expect {
      condition = metric.energy < 0
      message   = "the energy is not finite and negative"
    }
  }
  job {
    command = "sh md.sh run ${param.ns} ${output.structure} ${output.log} # ${input.tpr}"
    input "tpr" { from = phase.check.output.input }
    output "structure" {
      path     = "npt/npt.gro"
      min_size = "10B"
    }
    output "log" { path = "npt/npt.log" }
    metric "energy" {
      output = "log"
      regex  = "energy = (\\S+)"
    }
    resources {
      cpus     = 8
      gpus     = 1
      memory   = "16GiB"
      walltime = "12h"
      gpu { models = ["A100"] }
    }
  }
}

# Stage 4: keep what equilibration gave.
phase "keep_npt" {
  place { candidates = [backend.slurm.alpine] }
  job {
    command = "mkdir -p ${var.keep} && cp ${input.structure} ${var.keep}/ && cksum < ${var.keep}/npt.gro > ${output.sum}"
    input "structure" { from = phase.npt.output.structure }
    output "sum" {
      path   = "npt/kept.sum"
      verify = "nonempty"
    }
    resources {
      memory   = "2GiB"
      walltime = "30m"
    }
  }
}

# Stage 5: 400 ns take longer than the partition allows, so the job runs as a chain of segments.
# Each continues from the checkpoint, which is written every half hour: no more is lost.
phase "decorrelate" {
  place { candidates = [backend.slurm.alpine] }
  depends_on = [phase.keep_npt]
  params     = { ns = 400 }
  job {
    command = "sh md.sh run ${param.ns} ${output.trajectory} ${output.log} ${checkpoint} # ${input.structure}"
    input "structure" { from = phase.npt.output.structure }
    output "trajectory" {
      path     = "decorrelate/traj.xtc"
      min_size = "10B"
    }
    output "log" { path = "decorrelate/run.log" }
    resources {
      cpus     = 8
      gpus     = 1
      memory   = "16GiB"
      walltime = "60h"
      gpu { models = ["A100"] }
    }
  }
  checkpoint {
    path       = "decorrelate/state.cpt"
    interval   = "30m"
    write_time = "10s"
    max_loss   = "1h"
  }
}

# Stage 6: twenty snapshots, as far apart as they can be.
phase "extract" {
  place { candidates = [backend.slurm.alpine] }
  job {
    command = "sh md.sh extract 20 ${input.trajectory} ${output.frames}"
    input "trajectory" { from = phase.decorrelate.output.trajectory }
    output "frames" { dir = "frames" }
    resources {
      memory   = "8GiB"
      walltime = "1h"
    }
  }
}

# Stage 7: a replica from each, at most five at once. One that fails does not stop the others.
phase "replicas" {
  grid { axes = { i = range(1, 21) } }
  place { candidates = [backend.slurm.alpine] }
  max_parallel = 5
  params       = { ns = 50 }
  job {
    name    = "replica-${cell.i}"
    command = "sh md.sh run ${param.ns} ${output.trajectory} ${output.energy} # ${input.frames}/frame-${cell.i}.gro"
    input "frames" { from = phase.extract.output.frames }
    output "trajectory" {
      path     = "replicas/${cell.i}.xtc"
      min_size = "10B"
    }
    output "energy" {
      path   = "replicas/${cell.i}.log"
      verify = "nonempty"
    }
    metric "energy" {
      output = "energy"
      regex  = "energy = (\\S+)"
    }
    resources {
      cpus     = 8
      gpus     = 1
      memory   = "16GiB"
      walltime = "12h"
      gpu { models = ["A100"] }
    }
  }
  retry {
    on           = ["preempted", "node_failure", "nan"]
    max_attempts = 2
  }
}

# Stage 8: keep the replicas, each as soon as it is done.
phase "keep_replicas" {
  grid { axes = { i = range(1, 21) } }
  place { candidates = [backend.slurm.alpine] }
  job {
    command = "mkdir -p ${var.keep} && cp ${input.trajectory} ${var.keep}/ && cksum < ${input.trajectory} > ${output.sum} # ${cell.i}"
    input "trajectory" { from = phase.replicas.output.trajectory }
    output "sum" {
      path   = "replicas/${cell.i}.sum"
      verify = "nonempty"
    }
    resources {
      memory   = "2GiB"
      walltime = "30m"
    }
  }
}

# Stage 9: one table of what there is; 18 of the 20 suffice.
phase "analysis" {
  place { candidates = [backend.slurm.alpine] }
  job {
    command = "sh md.sh analyse ${input_file.energies} > ${output.table}"
    input "energies" {
      from_all = phase.replicas.output.energy
      require  = "90%"
    }
    output "table" {
      path   = "energies.csv"
      verify = "nonempty"
    }
    resources {
      memory   = "2GiB"
      walltime = "10m"
    }
  }
}
