locals {
  a = local.b + 1
  b = local.c
  c = "x${local.a}" # ERROR: A local refers to itself: local.a → local.b → local.c → local.a
  d = local.d       # ERROR: local.d → local.d
  e = local.ff      # ERROR: There is no local named "ff"
  f = 1
  g = vra.x         # ERROR: did you mean "var"?
}
phase "p" {
  job { command = "echo ${local.a} ${local.f}" }
}
