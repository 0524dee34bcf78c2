phase "a" {
  job { # ERROR: A job block needs command = …: a string, which
    name = "a" 
  }
}
phase "b" { } # ERROR: Add job { command = "…" } to the phase "b".
phase "c" {
  job { command = "" } # ERROR: There is nothing to run.
}
phase "d" {
  job { command = [] } # ERROR: The list is empty: its first element is the program.
}
phase "e" {
  job { command = { a = 1 } } # ERROR: A string is needed, this is an object.
}
phase "f" {
  job { command = ["x", ["y"], {a=1}, null] } # ERROR: A string is needed, this is an object. # ERROR: The value is null.
}
phase "g" {
  job { command = 12 }
}
phase "h" {
  job { command = null } # ERROR: The value is null.
}
phase "i" {
  job { command = ["", "x"] } # ERROR: The program is empty: it is the first element of the list.
}
