campaign "dllm-distill" {
  description      = "Teacher/student distillation: 2 teachers, 24 students"
  required_version = ">= 0.1"
  max_parallel     = 64

  state "file" {} # the default: beside the campaign; variables are legal here
}

variable "account" {
  type    = string
  default = "ucb-general" # your Slurm account
}

# ── where ────────────────────────────────────────────────────────────────
backend "slurm" "alpine" {
  profile = "cu-alpine" # site facts shipped as data: partitions, limits, the month they were verified
  account = var.account
  ssh { host = "login.rc.colorado.edu" }
  workdir = "/projects/me/dllm" # the place's half of a job: workdir, setup, env
  setup   = "module load cuda && conda activate dllm"
}

backend "ssh" "lab" {
  host         = "sjtu5" # ~/.ssh/config applies
  gpus         = [0, 1, 2, 3, 4, 5, 6, 7]
  gpu_free_max = "500MiB" # a GPU with at most this much memory in use counts as free
  max_parallel = 8
  workdir      = "~/dllm"
  setup        = "conda activate dllm"
}

# ── how much ─────────────────────────────────────────────────────────────
budget "paper" {
  limits   = { usd = 40, gpu_hours = 60, service_units = 5000 }
  deadline = "2026-12-15T00:00:00Z"
  warn_at  = 0.8
}

# ── what ─────────────────────────────────────────────────────────────────
source { # the code: its content is part of what a job is
  dir     = "."
  include = ["**/*.py", "configs/**"]
}

grid "student" {
  axes = {
    N    = [384, 512]
    n    = [50000, 150000, 500000, 652000]
    seed = [42, 200, 201]
  }
}

phase "teachers" {
  grid { axes = { N = [384, 512] } } # a grid inline, or grid = grid.NAME
  place { candidates = [backend.slurm.alpine] }

  params = { steps = 30000 }
  job {
    name    = "teacher-N${cell.N}"
    command = "python run_pc_exp.py --n_hidden ${cell.N} --n_steps ${param.steps} --out ${output.checkpoint} --log ${output.log}"
    env     = { OMP_NUM_THREADS = "8" }
    secret "WANDB_API_KEY" { env = "WANDB_API_KEY" }
    options "slurm" { qos = "normal" }
    resources {
      cpus     = 8
      memory   = "32GiB"
      gpus     = 1
      walltime = "4h"
      gpu {
        models = ["A100", "H100"]
        memory = "16GiB" # fits the testing partition's 20 GB slices, too
      }
    }
    output "checkpoint" {
      path     = "checkpoints/pcc_N${cell.N}.pt"
      verify   = "zip" # opened in place, every member's CRC checked
      min_size = "1MiB"
    }
    output "log" {
      path   = "logs/N${cell.N}.json"
      verify = "json"
    }
    metric "loss" {
      output = "log"
      json   = "/final/loss"
    }
  }

  smoke { # the same job, only shorter
    params   = { steps = 50 }
    walltime = "20m"
    cells    = "ends"
    expect {
      condition = metric.loss < 100
      message   = "loss diverged in the smoke run"
    }
  }
  pilot { cells = "first" } # one real cell before the fan-out; its result counts

  retry {
    on           = ["oom", "preempted", "node_failure"]
    max_attempts = 3 # launches, the first included
    delay        = "120s"
    scale "oom_host" { memory = 1.5 }
  }
}

phase "students" {
  grid = grid.student
  place { candidates = [backend.ssh.lab] }
  job {
    name    = "s${cell.seed}_N${cell.N}_n${cell.n}"
    command = "python run_pc_distill_exp.py --teacher ${input.teacher} --seed ${cell.seed} --n ${cell.n} --out ${output.result}"
    input "teacher" { from = phase.teachers.output.checkpoint } # exactly one per cell, matched on the shared axis N
    resources {
      gpus     = 1
      memory   = "16GiB"
      walltime = "45m"
    }
    output "result" {
      path   = "figures/pcdistill_N${cell.N}_n${cell.n}_seed${cell.seed}.json"
      verify = "json"
    }
    metric "loss" {
      output = "result"
      json   = "/final/loss"
    }
  }
}

phase "figure" { # no grid: one job, fed by every student
  place { candidates = [backend.local.local] }
  job {
    command = "python plot.py --list ${input_file.results} --out ${output.figure}"
    input "results" { from_all = phase.students.output.result }
    resources { walltime = "5m" }
    output "figure" {
      path   = "figures/all.pdf"
      verify = "nonempty"
    }
  }
}

result "best_loss" { value = min(values(phase.students.metric.loss)...) }

failure "velocity_limit" { # the project's own failure catalogue
  match  = "velocity of atom \\d+ exceeds"
  action = "hold"
  hint   = "raise minimize steps before production"
}

moved {
  from = phase.distill
  to   = phase.students
}
