# Values that are none, and what other tools would take.
variable "n" {
  type    = number
  default = null
}
locals {
  a = log(-1, 10)   # ERROR: There is no such number for these arguments.
  b = pow(-1, 0.5)  # ERROR: There is no such number for these arguments.
  c = 5 % (3 - 3)   # ERROR: can't divide by zero
  d = 7 % 4
  e = can(5 % 0) ? "no" : "yes"
}
phase "p" {
  params = { a = null }
  job {
    command = "echo ${var.n} ${param.a} ${local.d}" # ERROR: var.n is null, and a string cannot contain null. # ERROR: param.a is null, and a string cannot contain null.
    resources {
      mem           = "16G"    # ERROR: in a resources block. Memory of a job is memory = "16GiB", in resources { … }.
      gpus          = "a100:2" # ERROR: this is a string: write gpus = 2, and gpu { models = ["A100"] } for the model.
      gres          = "gpu:2"  # ERROR: GPUs of a job are gpus = N, in resources { … }
      ntasks        = 4        # ERROR: Cores of a job are cpus, in resources { … }.
      cpus_per_task = 4        # ERROR: Cores of a job are cpus, in resources { … }.
    }
  }
}
phase "null_path" {
  job {
    command = "echo ${local.e}"
    output "a" { path = var.n }  # ERROR: The path "${null}" of the output "a" of phase.null_path is no text.
    output "b" { path = ["x"] }  # ERROR: of the output "b" of phase.null_path is no text.
    output "c" { glob = "x[a" }  # ERROR: The path "x[a" of the output "c" of phase.null_path is not a glob
    output "d" { glob = "y{a,b}/[a-z]*.txt" }
  }
}
phase "no_grid" {
  grid = grid.gg # ERROR: There is no grid named "gg"
  job { command = "x" }
  smoke { cells = "end" } # ERROR: "end" is not one of first, ends, all; did you mean "ends"?
  pilot { cells = 5 }     # ERROR: Write "first", "ends", "all", or a list of partial cells
}
phase "cascade" {
  job {
    command = "echo ${output.o}"
    output "o" { path = "${path.workdir}/o" } # ERROR: path.workdir is known where the job runs; a path must be known before.
  }
}
