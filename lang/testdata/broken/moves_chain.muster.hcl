phase "b" {
  grid { axes = { kz = [0, 1] } }
  job { command = "echo ${cell.kz}" }
}
moved {
  from = phase.a["kx=0"]
  to   = phase.a["ky=0"]
}
moved {
  from = phase.a["ky=0"]
  to   = phase.b["kz=0"]
}
moved {
  from = phase.a["kx=1"]
  to   = phase.a["ky=1"] # ERROR: The block at x.muster.hcl line 17 moves it on to phase.b["ky=1"]. phase.b has no job phase.b["ky=1"]
}
moved {
  from = phase.a
  to   = phase.b
}
