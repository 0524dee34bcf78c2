phase { # ERROR: A phase block has one label: No labels were found. Write phase "NAME" { … }
  job { command = "true" }
}
backend "local" { # ERROR: A backend block has two labels
  cpus = 2
}
phase "1st" { # ERROR: Invalid name
  job { command = "true" }
}
policy "x" { # ERROR: A policy block has no labels
}
phase "lllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllllll" { # ERROR: Name is too long: The name of a phase has 201 bytes: use at most 200
  job { command = "true" }
}
