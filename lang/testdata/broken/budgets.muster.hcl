budget "e" { limits = {} } # ERROR: The map is empty, so the budget limits nothing: write { usd = 40 },
budget "n" {} # ERROR: Write limits = { usd = 40 } or deadline = "2026-12-15T00:00:00Z".
budget "neg" { 
  limits = { usd = -4, eur = 3, gpu_hours = "x" } # ERROR: There is no unit named "eur". Units are usd, gpu_hours, cpu_hours, # ERROR: gpu_hours must be a number, at least 0; "x" was found. # ERROR: usd must be a number, at least 0; "-4" was found.
  warn_at = 80 # ERROR: 0 to 1 is needed, 80 was found.
}
budget "d" {
  deadline = "2026-13-45" # ERROR: "2026-13-45" is not a time; write it with its zone, such as
  applies_to = [phase.b, backend.local.lokal, grid.x, "phase.a", phase.a] # ERROR: There is no backend.local.lokal; did you mean "local.local"? # ERROR: There is no phase named "b"; the phases are a. # ERROR: applies_to names phases and backends: [phase.students,
}
budget "z" {
  limits = { usd = 0 }
  strict = "yes" # ERROR: True or false is needed, this is a string.
}
budget "d2" {
  deadline = 2026 # ERROR: "2026" is not a time; write it with its zone, such as
}
phase "a" { 
  job { command = "x" } 
}
