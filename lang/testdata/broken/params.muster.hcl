phase "p" {
  params = {
    a = param.b # ERROR: A param refers to itself: param.b → param.a → param.b
    b = param.a
    c = cell.x # ERROR: The phase has no grid
    d = output.o # ERROR: no output named "o"
  }
  job { command = "true" }
}
phase "q" {
  params = [1] # ERROR: An object is needed
  job { command = "true" }
}
phase "cells" {
  grid { axes = { n = [1, 2, 3] } }
  params = { m = { "1" = "a", "3" = "c" }[cell.n] } # ERROR: In the cell n=2
  job {
    command = "run ${param.m}"
    resources { memory = cell.n > 2 ? "24G" : "24GB" } # ERROR: In the cell n=3
  }
}
