phase "a" {
  grid { axes = { N = [1,2] } }
  job {
    command = "x ${cell.N} ${output.o}"
    output "o" { path = "o/${cell.N == 1 ? "../../up" : "/abs"}" } # ERROR: The path "../up" of the output "o" of phase.a["N=1"] leads out of the
    output "p" { path = "p/${cell.N}/../x" } # ERROR: phase.a["N=1"] and phase.a["N=2"] would both write "p/x". Put the
    output "q" { glob = "q/*.json" } # ERROR: phase.a["N=1"] and phase.a["N=2"] would both write "q/*.json". Put
    output "r" { dir = "." } # ERROR: phase.a["N=1"] and phase.a["N=2"] would both write ".". Put the axes
  }
}
phase "b" {
  job {
    name = "" # ERROR: The label of phase.b is empty.
    command = "x"
  }
}
phase "c" {
  grid { axes = { N = [1,2] } }
  job {
    name = "c ${cell.N}\n" # ERROR: The label of phase.c["N=1"] holds a control character.
    command = "x ${cell.N}"
  }
}
phase "d" {
  grid { axes = { N = [1,2] } }
  job {
    name = "same" # ERROR: phase.d["N=1"] and phase.d["N=2"] are both called "same". muster accepts
    command = "x ${cell.N}"
  }
}
