variable "token" {
  default   = "s3cret"
  sensitive = true
}
locals {
  half = substr(var.token, 0, 3)
}
phase "p" {
  job {
    command = "run --token ${var.token}" # WARNING: Use a secret block
    name    = "job-${local.half}" # ERROR: A sensitive value in a label
    output "o" { path = "out/${var.token}" } # ERROR: A sensitive value in a path
  }
}
phase "q" {
  grid { axes = { t = [var.token] } } # ERROR: a sensitive value cannot be an axis value
  job { command = "echo ${cell.t}" }
}
