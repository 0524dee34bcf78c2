phase "a" {
  grid { axes = { N = [1,2], rep = [1,2,3], u = [1,2] } # ERROR: A block of several lines begins its attributes on a line of their own:
  }
  job {
    command = "x ${cell.N}"
    output "o" { path = "same" }
    output "p" { path = "q/${cell.N}" }
    output "l" { 
      path = "log.txt" 
      shared = true
    }
  }
  smoke {}
}
phase "b" {
  source { include = ["*.py"] }
  job {
    command = "x ${input.i} ${input.l}"
    input "i" { from = phase.a.output.p }
    input "l" { from = phase.a.output.l } # ERROR: The output "l" of phase.a is written by several jobs (shared = true),
    output "z" { path = "z" }
  }
  smoke { isolated = true }
}
