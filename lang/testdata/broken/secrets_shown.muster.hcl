variable "s" {
  sensitive = true
  default = "secret"
}
phase "a" {
  grid { axes = { N = [var.s, "b"] } } # ERROR: Value 1 of the axis "N": a sensitive value cannot be an axis value:
  job {
    name = "x-${var.s}-${cell.N}" # ERROR: var.s is sensitive, and a label is shown and stored.
    command = "x ${cell.N} ${var.s}"
    output "o" { path = "o/${var.s}/${cell.N}" } # ERROR: var.s is sensitive, and a path is shown and stored.
    env = { A = var.s }
  }
  checkpoint { path = "c/${var.s}" } # ERROR: var.s is sensitive, and a path is shown and stored.
  precondition { file = "p/${var.s}" } # ERROR: var.s is sensitive, and a path is shown and stored.
}
budget "b" { limits = { usd = 1 } }
result "r" { value = var.s } # ERROR: var.s is sensitive, and a result is shown.
backend "local" "x" { workdir = "/w/${var.s}" } # ERROR: var.s is sensitive, and a path is shown and stored.
