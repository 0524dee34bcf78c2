phase "a" {
  job { command: "x" } # ERROR: An argument or block definition is required here. To set an argument,
}
phase "b" {
  job { command = x }
}
phase "c" = { # ERROR: The equals sign "=" indicates an argument definition, and must not be
}
phase c {
  job { command = "x" }
}
