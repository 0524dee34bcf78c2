phase "unread" {
  grid { axes = { n = [1, 2], m = [1, 2] } } # WARNING: No expression of the job in phase.unread reads cell.m
  job {
    command = "echo ${cell.n}"
  }
}
phase "typo" {
  grid { axes = { seed = [1, 2] } }
  job { command = "echo ${cell.seeds}" } # ERROR: There is no axis named "seeds"; did you mean "seed"?
}
phase "values" {
  grid {
    axes = {
      a = 3 # ERROR: The axis "a" must be a list
      b = [{ x = 1 }] # ERROR: needs a key attribute
      c = [null] # ERROR: null is not an axis value
    }
  }
  job { command = "echo ${cell.a}" }
}
phase "nothing" {
  grid = grid.studnet # ERROR: There is no grid named "studnet"; did you mean "student"?
  job { command = "true" }
}
grid "student" { axes = { n = [1] } }
phase "inline" {
  grid = { axes = { n = [1] } } # ERROR: An inline grid is a block
  job { command = "true" }
}
phase "huge" {
  grid { # ERROR: 1,000,000,000,000 cells
    axes = {
      a = range(1000)
      b = range(1000)
      c = range(1000)
      d = range(1000)
    }
  }
  job { command = "echo ${cell.a} ${cell.b}" }
}
