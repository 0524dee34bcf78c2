# What the pipelines beside this file plan and apply. State and work lie outside
# the checkout: CI cleans that, and every job of a pipeline must find them.

variable "home" {
  description = "A directory that every runner of this project sees; in CI, MUSTER_VAR_home"
  default     = "/srv/muster/ci-example"
}

campaign "ci-example" {
  state "file" { path = "${var.home}/state" }
}

backend "local" "local" {
  workdir = "${var.home}/work"
}

budget "month" {
  limits = { cpu_hours = 50 }
}

policy {
  approve_above = { cpu_hours = 0.05 } # more than this needs a plan that was saved, and so reviewed
}

phase "train" {
  grid { axes = { seed = [1, 2, 3, 4] } }
  job {
    command = "echo '{\"loss\": 0.${cell.seed}}' > ${output.result}"
    resources {
      cpus     = 1
      walltime = "5m"
    }
    output "result" {
      path   = "results/${cell.seed}.json"
      verify = "json"
    }
    metric "loss" {
      output = "result"
      json   = "/loss"
    }
  }
}

result "best_loss" { value = min(values(phase.train.metric.loss)...) }
