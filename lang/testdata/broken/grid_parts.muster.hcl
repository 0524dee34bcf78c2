grid "g" {
  axes = { N = [1, 2], s = [1, 2, 3] }
  where = cell.M > 1 # ERROR: There is no axis named "M"; the axes are N, s.
  include = [{ N = 5 }, { N = 1, s = 1 }, { N = 9, s = 9, q = 1 }, 5] # ERROR: Cell 4 is not an object of axes and values, { N = 768 }. # ERROR: Entry 1 of include in grid.g has no value for s; it must name every # ERROR: Entry 3 of include has a value for "q", which is not an axis of
  repeat = ["rep"] # ERROR: repeat names the axis "rep", which grid.g does not have; its axes are
  sample = { count = 0, sede = 7 } # ERROR: There is no "sede" in a sample; did you mean "seed"? It holds count # ERROR: count: at least 1 is needed, 0 was found.
}
phase "a" {
  grid = grid.gg # ERROR: There is no grid named "gg"; the grids are g.
  job { command = "x ${cell.N}" }
}
phase "b" {
  grid = grid.g
  job { command = "x ${cell.Q} ${cell.N} ${cell.s}" }
}
