phase "a" {
  job { command = "x" }
  place { 
    candidates = [backend.local.local, backend.local.local, backend.locl.x, phase.a, "nope"] # ERROR: A list of backends is needed, [backend.slurm.alpine]; this is a phase. # ERROR: There is no backend.locl.x. Declared: local.local. # ERROR: There is no backend.nope. Declared: local.local.
    prefer = "cheap" # ERROR: "cheap" is not one of order, cheapest, soonest.
  }
  depends_on = phase.b # ERROR: A list is needed: depends_on = [phase.b].
}
phase "b" {
  job { command = "x" }
  place { candidates = [] } # ERROR: The list is empty, so the jobs could run nowhere. Name a backend, or
  depends_on = [phase.a]
}
phase "c" {
  job { command = "x" }
  place { candidates = backend.local.local } # ERROR: A list of backends is needed: candidates = [backend.TYPE.NAME].
  depends_on = [phase.d]
}
phase "d" {
  job { command = "x" }
  depends_on = [phase.c] # ERROR: c → d → c: each needs the one before it, so none could start.
}
policy {
  urgent_within = "24" # ERROR: "24" has no unit: write 24s for seconds, 24m for minutes or 24h for
  long_wait = 4 # ERROR: "4" has no unit: write 4s for seconds, 4m for minutes or 4h for hours.
  price_tolerance = -1 # ERROR: At least 0 is needed, -1 was found.
  stale_after = "180 days" # ERROR: "180 days" is not a duration: write 90s, 45m, 4h, 1h30m, 2d or
  approve_above = { dollars = 100 } # ERROR: There is no unit named "dollars". Units are usd, gpu_hours,
  deny = [backend.local.local]
  allow = [backend.x.y] # ERROR: There is no backend.x.y. Declared: local.local.
  rule { 
    when = shape.gpu > 0 # ERROR: There is no shape named "gpu"; did you mean "gpus"?
    use = "cheapst" # ERROR: "cheapst" is not a way to choose; did you mean "cheapest"? Ways are
  }
  rule { when = "x" } # ERROR: A rule block needs use = …: `local`, `cheapest_soonest`,
  rule { 
    when = shape.gpus # ERROR: A condition is true or false, not a number.
    use = "local"
  }
  rule { 
    when = shape.gpus > "x"
    use = backend.local.nope # ERROR: There is no backend.local.nope. Declared: local.local.
  }
}
