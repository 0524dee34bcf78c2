phase "a" {
  grid { 
    axes = { N = [1, 2] } 
    where = cell.N > 5 # WARNING: where is true for no combination of the axes of phase "a", so it has
  }
  job { command = "x ${cell.N}" }
}
phase "b" {
  grid { 
    axes = { N = [1, 2] } 
    where = "maybe" # ERROR: where must be a condition on the axes, such as cell.N < 512.
  }
  job { command = "x ${cell.N}" }
}
phase "c" {
  grid { 
    axes = { N = [1, 2] } 
    sample = { count = 100 } # WARNING: sample asks for 100 cells, and phase "c" has 2; all are kept.
  }
  job { command = "x ${cell.N}" }
}
phase "d" {
  grid {} # ERROR: phase "d" has no axes; leave the grid out for a phase of one job.
  job { command = "x" }
}
phase "e" {
  grid { axes = {} } # ERROR: phase "e" has no axes; leave the grid out for a phase of one job.
  job { command = "x" }
}
