grid "a" { axes = { N = [384, 512], "lr" = [0.1] } }
phase "a" {
  grid = grid.a
  job {
    command = "a ${cell.N} ${cell.lr} > ${output.o}"
    output "o" { path = "a/${cell.N}" }
  }
}
phase "b" {
  grid = grid.a
  depends_on = ["a", phase.c]
  job {
    command = "b ${cell.lr} ${input.x} > ${output.o}"
    input "x" { from = phase.a.output.o }
    input "y" { from_all = phase.c.output.o }
    output "o" { path = "b/${cell.key}" }
  }
}
phase "c" {
  grid { axes = { N = [384, 512], s = [1,2] } }
  job {
    command = "c ${cell.N} ${cell.s} ${input.z} ${output.o}"
    input "z" { from = phase.b.output.o } # ERROR: b → c → b: each needs the one before it, so none could start.
    output "o" { path = "c/${cell.key}" }
  }
}
