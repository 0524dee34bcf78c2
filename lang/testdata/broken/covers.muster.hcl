phase "a" {
  grid { axes = { N = [1, 2] } }
  job {
    command = "x ${cell.N}"
    output "d" { dir = "out/${cell.N}" }
  }
}
phase "b" {
  job {
    name = "phase.a[\"N=1\"]" # ERROR: The label of phase.b is "phase.a[\"N=1\"]", the address of another
    command = "x"
    output "f" { path = "out/1/x.json" } # ERROR: phase.b would write "out/1/x.json", which is in the dir "out/1" of
    output "g" { glob = "out/*/y.json" }
  }
}
phase "c" {
  job {
    name = "phase.b" # ERROR: The label of phase.c is "phase.b", the address of another job; muster
    command = "x"
    output "g" { glob = "out/2/*.json" } # ERROR: phase.c would write "out/2/*.json", which is in the dir "out/2" of
    output "h" { path = "out/1/" } # ERROR: phase.a["N=1"] and phase.c would both write "out/1". Put the axes in
    output "i" { dir = "deep" }
    output "j" { path = "deep/er" }
  }
}
