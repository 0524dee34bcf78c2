phase "a" {
  job {
    command = "cat ${input.x} > ${output.o}"
    input "x" { from = phase.c.output.o }
    output "o" { path = "a" }
  }
}
phase "b" {
  job {
    command = "cat ${input.x} > ${output.o}"
    input "x" { from = phase.a.output.o } # ERROR: a → b → c → a
    output "o" { path = "b" }
  }
}
phase "c" {
  depends_on = [phase.b]
  job {
    command = "true > ${output.o}"
    output "o" { path = "c" }
  }
}
phase "self" {
  depends_on = [phase.self] # ERROR: is in its own depends_on
  job { command = "true" }
}
