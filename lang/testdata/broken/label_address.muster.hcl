phase "a" {
  grid { axes = { N = [1, 2] } }
  job {
    name = "phase.b" # ERROR: phase.a["N=1"] and phase.a["N=2"] are both called "phase.b". muster accepts
    command = "x ${cell.N}"
    output "d" { dir = "out" } # ERROR: phase.a["N=1"] and phase.a["N=2"] would both write "out". Put the
  }
}
phase "b" {
  job {
    name = "phase.a[\"N=1\"]" # ERROR: The label of phase.b is "phase.a[\"N=1\"]", the address of another
    command = "x"
    output "f" { path = "out/x.json" }
    output "g" { glob = "out/*.json" }
  }
}
