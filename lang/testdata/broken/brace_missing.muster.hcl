phase "a" {
  job { command = "x" # ERROR: A block of several lines begins its attributes on a line of their own:
}
phase "b" {
  job { command = "y" }
}
