variable "v" { type = number, default = 3 } # ERROR: Two attributes in a one-line block
grid "g" { axes = { N = [1, 2], m = [3] }, repeat = ["m"] } # ERROR: Two attributes in a one-line block
phase "p" {
  grid = grid.gg # ERROR: There is no grid named "gg"
  depends_on = [phase.qq] # ERROR: There is no phase named "qq"
  job { command = "x ${var.v} ${vra.v}" } # ERROR: did you mean "var"?
}
phase "q" {
  grid = grid.g
  job {
    command = "x ${cell.n}" # ERROR: There is no axis named "n"; did you mean "N"?
    resources { walltime = "30", memory = "3G" } # ERROR: Two attributes # ERROR: has no unit
    output "o" { path = "o" verify = "json" } # ERROR: Two attributes
    input "i" { from = phase.r.output.o, match = { N = 1 } } # ERROR: Two attributes
  }
}
phase "r" {
  grid { axes = { k = [1, 2] } }
  job {
    command = "x ${cell.k} ${output.o}"
    output "o" { path = "r${cell.k}" }
  }
}
