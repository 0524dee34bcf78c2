phase "a" {
  job { command: "x" } # ERROR: An argument or block definition is required here. To set an argument,
}
phase "b" {
  job { command = x }
}
phase "c" = { # ERROR: A block has no equals sign
}
phase c {
  job { command = "x" }
}
