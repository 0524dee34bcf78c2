phase "a" {
  grid = { axes = { N = [1] } } # ERROR: An inline grid is a block: write grid { axes = { … } } without the
  job {
    command = x # ERROR: There is no value named "x" here; expressions here begin with
  }
}
phase "b" {
  grid = grid # ERROR: A grid is needed: grid = grid.NAME
  job {
    command = "x ${param.a.b} ${cell.key.x} ${path} ${backend.name} ${backend}" # ERROR: Write backend.NAME; there is backend.address, backend.cpus, # ERROR: Write path.NAME; there is path.source, path.workdir.
    env     = { "A B" = "x", C = metric.x, D = output.nope } # ERROR: "A B" cannot name an environment variable: use letters, digits and _, # ERROR: A metric is known when its job has run: the condition of a smoke's # ERROR: There is no output named "nope"; there are none here.
    setup   = "cd ${path.nope}" # ERROR: There is no path named "nope"; the paths are source, workdir.
    image   = "img:${cell.N}"
  }
  params = { a = cell.N }
}
phase "c" {
  depends_on = [phase.a.b, grid.x, 5, phase] # ERROR: There is no phase named "5"; the phases are a, b, c. # ERROR: depends_on names whole phases, [phase.NAME]; phase.a.b was # ERROR: depends_on names whole phases, [phase.NAME]; grid.x was # ERROR: depends_on names whole phases, [phase.NAME]; phase was
  place { candidates = [backend.local, backend, local.x] } # ERROR: Write backend.TYPE.NAME, such as backend.local.local. # ERROR: Write backend.TYPE.NAME, such as backend.local.local.
  job {
    command = "x"
    resources {
      memory   = cell.N # ERROR: The phase has no grid, so there is no cell.N. Give the phase a grid
      walltime = output.x # ERROR: There is no output named "x"; there are none here.
      cpus     = input.y # ERROR: There is no input named "y"; there are none here.
    }
  }
}
