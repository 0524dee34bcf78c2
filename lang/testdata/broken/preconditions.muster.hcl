phase "a" {
  precondition { condition = "maybe" } # ERROR: A condition is true or false, not a string.
  precondition { file = "" } # ERROR: The path is empty: write a file on the backend, relative to the
  precondition { file = ["a"] } # ERROR: A string is needed, this is a list.
  precondition { condition = 1 } # ERROR: A condition is true or false, not a number.
  precondition { file = "/abs/x" }
  precondition { file = "~/x" }
  precondition { file = "../x" }
  job { command = "x" }
}
