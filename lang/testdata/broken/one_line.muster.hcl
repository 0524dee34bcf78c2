phase "a" {
  job { command = "true", name = "x" } # ERROR: Two attributes in a one-line block: HCL allows one attribute in a one-line block. Give each a line of its own:
}
phase "b" {
  job {
    command = "true"
    output "o" { path = "o" verify = "json" } # ERROR: Two attributes in a one-line block
    outptu "p" { path = "p" } # ERROR: did you mean "output"?
  }
}
phase "c" { job { command = "true" } } # ERROR: A block in a one-line block
