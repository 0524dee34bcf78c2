phase "a" {
  grid { axes = { n = [1, 2], m = [1, 12] } }
  job {
    command = "echo ${cell.n} ${cell.m}"
    name    = "j${cell.m}" # ERROR: phase.a["m=1,n=1"] and phase.a["m=1,n=2"] are both called "j1"
  }
}
phase "b" {
  grid { axes = { n = [1, 11], m = [1, 11] } }
  job {
    command = "echo ${cell.n} ${cell.m}"
    name    = "k${cell.m}${cell.n}" # ERROR: are both called "k111"
  }
}
phase "c" {
  job {
    command = "true"
    name    = "same"
  }
}
phase "d" {
  job {
    command = "true"
    name    = "same" # ERROR: phase.c and phase.d are both called "same"
  }
}
