phase "a" {
  grid { axes = { N = [1,2], rep = [1,2,3], u = [1,2] } } # WARNING: No expression of the job in phase.a reads cell.rep, so jobs that # WARNING: No expression of the job in phase.a reads cell.u, so jobs that differ
  job {
    command = "x ${cell.N}"
    output "o" { path = "same" } # ERROR: No expression of the job in phase.a reads ${output.o}: a smoke writes # ERROR: phase.a["N=1,rep=1,u=1"] and phase.a["N=1,rep=1,u=2"] would both
    output "p" { path = "q/${cell.N}" } # ERROR: No expression of the job in phase.a reads ${output.p}: a smoke writes # ERROR: phase.a["N=1,rep=1,u=1"] and phase.a["N=1,rep=1,u=2"] would both
    output "l" { # ERROR: No expression of the job in phase.a reads ${output.l}: a smoke writes
      path = "log.txt" 
      shared = true
    }
  }
  smoke {}
}
phase "b" {
  source { include = ["*.py"] }
  job {
    command = "x ${input.i}"
    input "i" { from_all = phase.a.output.p }
    output "z" { path = "z" } # ERROR: No expression of the job in phase.b reads ${output.z}: with a source
  }
}
phase "c" {
  job {
    command = ["x"]
    output "z" { path = "zz" } # ERROR: No expression of the job in phase.c reads ${output.z}: a smoke writes
  }
  smoke { walltime = "1m" }
}
