campaign "c" {
  state "file" { path = var.tok } # ERROR: A sensitive value in a path
}
variable "tok" {
  default   = "abc"
  sensitive = true
}
variable "t" {
  type    = strng # ERROR: Did you mean string?
  default = ""
}
variable "u" {
  type    = list(integer) # ERROR: Types are string, number
  default = []
}
result "leak" { value = "${var.tok}!" } # ERROR: A sensitive value in a result
variable "v" {
  type    = bool
  default = true
  validation {
    conditon     = true # ERROR: did you mean "condition"?
    error_mesage = "x" # ERROR: did you mean "error_message"?
  }
}
backend "local" "x" { workdir = "/tmp/${var.tok}" } # ERROR: A sensitive value in a path
phase "p" "q" { # ERROR: Two labels were found
  job "x" { # ERROR: One label was found
    comand = "x" # ERROR: did you mean "command"?
  }
}
phase "1a" { # ERROR: cannot name a phase
  jb { command = "x" } # ERROR: There is no block named "jb"
  job {
    command = "x"
    output "a.b" { path = "x" } # ERROR: cannot name an output
    secret "A-B" { env = "X" } # ERROR: cannot name an environment variable
    secret "B" { command = [] } # ERROR: The list is empty
  }
  budget "b" {} # ERROR: Is a closing brace missing above?
}
phase "r" {
  jobs { command = "x" } # ERROR: did you mean "job"?
}
phase "s" {
  job { command = "x ${HOME} ${linspce(1, 2, 3)} ${checkpoint} ${secret.A}" } # ERROR: write $${HOME} # ERROR: did you mean "linspace"? # ERROR: The phase has no checkpoint block # ERROR: A secret is a variable of the job's environment
  smoke { cells = [] } # ERROR: The list is empty
  place { candidates = [backend.local.local, "lab", phase.p, backend.slurm.nope] } # ERROR: no backend.lab # ERROR: this is a phase # ERROR: no backend.slurm.nope
  lifecycle { prevent_rerun = "maybe" } # ERROR: True or false is needed
}
import {} # ERROR: An import block needs to =
