phase "a" {
  grid {
    axes   = { n = [1, 2], seed = [1, 2] }
    repeat = ["seed"]
  }
  job {
    command = "echo ${cell.n} > ${output.o}"
    output "o" {
      path = "out/${cell.n}.txt" # ERROR: phase.a["n=1,seed=1"] and phase.a["n=1,seed=2"] would both write "out/1.txt"
    }
    output "s" {
      path   = "log.txt"
      shared = true
    }
    output "t" { path = "./log.txt" } # ERROR: Two jobs would write the same path
  }
}
phase "b" {
  job {
    command = "true"
    output "o" { path = "b/x.txt" }
    output "p" { path = "b//x.txt" } # ERROR: The outputs "o" and "p" of phase.b are both
    output "q" { path = "/abs" } # ERROR: is absolute
    output "r" { path = "../up" } # ERROR: leads out of the workdir
  }
}
phase "c" {
  job {
    command = "true"
    output "o" { path = "b/x.txt" } # ERROR: phase.b and phase.c would both write "b/x.txt"
  }
}
