variable "v" { default = 1 }
variable "v" { default = 2 } # ERROR: Duplicate variable "v"
locals {
  a = 1
}
locals {
  a = 2 # ERROR: Duplicate local
}
phase "p" {
  job {
    command = "true"
    output "o" { path = "a" } # ERROR: An output that the job does not take
    output "o" { path = "b" } # ERROR: Duplicate output "o"
  }
  smoke { cells = "first" }
  smoke { cells = "all" } # ERROR: Duplicate smoke: It is already at
}
phase "p" { # ERROR: Duplicate phase "p"
  job { command = "true" }
}
campaign "one" {
}
campaign "two" { # ERROR: There can be only one campaign block here
}
budget "b" { limits = { usd = 1 } }
budget "b" { limits = { usd = 2 } } # ERROR: Duplicate budget "b"
