phase "a" {
  grid {
    axes = {
      N     = [1, 2]
      "n n" = [1] # ERROR: "n n" cannot name an axis: letters, digits, _ and -, not beginning
      key   = [1] # ERROR: cell.key is the cell's whole key; name the axis otherwise.
      seed  = []
      x     = 3 # ERROR: The axis "x" must be a list of values, [ … ], not a number.
      y     = [null] # ERROR: Value 1 of the axis "y": null is not an axis value.
      z = [
        1,
        [1], # ERROR: Value 2 of the axis "z": a list is not an axis value: axes hold
      ]
      w = [{ a = 1 }] # ERROR: Value 1 of the axis "w": an object on an axis needs a key attribute,
      k = [{ key = "a" }, { key = "a" }] # WARNING: The value a appears twice on the axis "k" of phase "a"; it counts once.
      o = [{ key = "a", v = 1 }, { key = "a", v = 2 }] # ERROR: Two values of the axis "o" of phase "a" have the key a but differ
      d = [1, 1.0, "1"] # WARNING: The axis "d" of phase "a" holds 1 both as a number and as a string. # WARNING: The value 1 appears twice on the axis "d" of phase "a"; it counts once.
    }
    where = cell.nope # ERROR: There is no axis named "nope"; the axes are N, n n, key, seed, x, y,
    include = [
      { N = 5 }, # ERROR: Entry 1 of include in phase "a" has no value for d, k, key, n n, o,
      7, # ERROR: Cell 2 is not an object of axes and values, { N = 768 }.
    ]
    repeat = ["rep"] # ERROR: repeat names the axis "rep", which phase "a" does not have; its axes
  }
  job { command = "x ${cell.N}" }
}
phase "huge" {
  grid { axes = { a = range(100000), b = range(100000), c = range(100) } } # ERROR: phase "huge" has 1,000,000,000,000 cells (100,000 a × 100,000 b ×
  job { command = "x ${cell.a} ${cell.b} ${cell.c}" }
}
