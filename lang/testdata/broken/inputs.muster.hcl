grid "n" { axes = { n = [1, 2, 3] } }
phase "t" {
  grid {
    axes = { n = [1, 2], k = ["a", "b"] }
  }
  job {
    command = "echo ${cell.n} ${cell.k} > ${output.o}"
    output "o" { path = "t/${cell.n}${cell.k}" }
    output "s" {
      path   = "shared"
      shared = true
    }
  }
}
phase "several" {
  grid { axes = { n = [1] } }
  job {
    command = "cat ${input.t}"
    input "t" { from = phase.t.output.o } # ERROR: but 2 match on n: phase.t["k=a,n=1"], phase.t["k=b,n=1"]
  }
}
phase "none" {
  grid = grid.n
  job {
    command = "cat ${input.t}"
    input "t" { from_all = phase.t.output.o } # ERROR: phase.none["n=3"] takes the input "t" from a job of phase.t with n=3, and there is none
  }
}
phase "bare" {
  job {
    command = "cat ${input.t}"
    input "t" { from = phase.t.output.o } # ERROR: share no axis
  }
}
phase "wrong" {
  grid = grid.n
  job {
    command = "cat ${input.t} ${cell.n}"
    input "t" { from = phase.tt.output.o } # ERROR: no phase named "tt"
    input "u" { from = phase.t.output.x } # ERROR: phase.t has no output "x"
    input "v" { from = phase.t.output.s } # ERROR: A shared output cannot be an input
    input "w" { from = "t" } # ERROR: Write an output of a phase
    input "p" { from = phase.t[cell.n].output.o } # ERROR: Write phase.t.output.OUTPUT without the index: each job reads the cell that has its own axis values.
    input "q" { from = phase.t["k=a,n=1"].output.o } # ERROR: Write phase.t.output.OUTPUT without the index
    input "r" { from = phase.t[0] } # ERROR: Write phase.t.output.OUTPUT without the index
    input "x" { match = {} } # ERROR: An input needs a producer
    input "y" {
      from  = phase.t.output.o
      match = { N = cell.n } # ERROR: did you mean "n"?
    }
  }
}
