phase "a" {
  grid { axes = { N = [1,2] } }
  params = { steps = 100, lr = param.stepz, c = param.c, d = param.e, e = param.d } # ERROR: There is no param named "stepz"; did you mean "steps"? # ERROR: param.c → param.c. # ERROR: param.e → param.d → param.e.
  job { 
    command = "x ${cell.N} ${param.steps} ${param.step} ${output.o} ${outputs.o} ${input.x} ${path.workdirr} ${backend.nme} ${metric.x} ${phase.b.metric.x} ${self.x} ${each.key} ${count.index} ${path.module} ${terraform.workspace} ${cell.n} ${output.p}" # ERROR: A job's own values are cell.AXIS, its key is cell.key. # ERROR: A job's own values are cell.AXIS, its key is cell.key. # ERROR: A job's own values are cell.AXIS, param.NAME and output.NAME. # ERROR: A metric is known when its job has run: the condition of a smoke's # ERROR: The campaign's folder is path.workdir in a job; other names of # ERROR: There is no axis named "n"; did you mean "N"? # ERROR: There is no backend named "nme"; did you mean "name"? # ERROR: There is no input named "x"; there are none here. # ERROR: There is no output named "p"; the outputs are o. # ERROR: There is no param named "step"; did you mean "steps"? # ERROR: There is no path named "module"; the paths are source, workdir. # ERROR: There is no path named "workdirr"; did you mean "workdir"? # ERROR: There is no value named "outputs" here; did you mean "output"? # ERROR: Only results read phase.NAME.metric.M and
    output "o" { path = "o${cell.N}" }
  }
  smoke {
    command = "y" # ERROR: There is no attribute named "command" in a smoke block; it holds
    params = { step = 1, steps = 5 } # ERROR: A smoke changes params that the phase has; there is no param "step";
    walltime = "0s" # ERROR: A walltime is more than nothing.
    cells = "frist" # ERROR: "frist" is not one of first, ends, all; did you mean "first"? A list
    resources { cpus = 1 } # ERROR: There is no block named "resources" in a smoke block; it holds canary, cells,
    expect { condition = metric.lss < 1 } # ERROR: There is no metric named "lss"; there are none here.
    place { 
      candidates = [backend.slurm.x] # ERROR: There is no backend.slurm.x. Declared: local.local.
      prefer = "cheap" # ERROR: A smoke runs on the cheapest pool of its environment class; name
    }
  }
  pilot { cells = [{ N = 3 }, { M = 1 }] } # ERROR: The axis "N" has no value 3; it has 1, 2. # ERROR: There is no axis named "M"; the axes are N.
  retry {
    on = ["oomm", "walltime"] # ERROR: There is no failure class "oomm"; did you mean "oom"? Classes are
    max_attempts = 0 # ERROR: At least 1 is needed, 0 was found.
    delay = 120 # ERROR: "120" has no unit: write 120s for seconds, 120m for minutes or 120h
    params = { x = 1 } # ERROR: There is no attribute named "params" in a retry block; it holds
    scale "oom_host" { memory = 1.5 } # WARNING: The class "oom_host" is not in retry.on, so no launch follows such a
    scale "nope" { memory = "2x" } # ERROR: A number is needed, this is a string. # ERROR: There is no failure class "nope". Classes are oom, oom_gpu, oom_host,
  }
  breaker {
    same_error = -1 # ERROR: At least 0 is needed, -1 was found.
    share = 15 # ERROR: 0 to 1 is needed, 15 was found.
  }
  checkpoint {
    path = "x"
    interval = "2h" # ERROR: A checkpoint every 2h may lose 2h of work; max_loss allows 1h.
    signal = "USR3" # ERROR: "USR3" is not one of USR1, USR2, TERM, INT, HUP, CONT, QUIT; did you
    grace = 60 # ERROR: "60" has no unit: write 60s for seconds, 60m for minutes or 60h for
    max_loss = "1h"
  }
  lifecycle {
    ignore_changes = [env, comand, params.x, "setup", param.nope, env.NOPE] # ERROR: ignore_changes cannot name "comand"; did you mean "command"? Fields
    prevent_rerun = "yes" # ERROR: True or false is needed, this is a string.
  }
  max_parallel = 0 # ERROR: At least 1 is needed, 0 was found.
  depends_on = [phase.b, phase.a, "c"] # ERROR: There is no phase named "b"; the phases are a. # ERROR: There is no phase named "c"; the phases are a. # ERROR: phase.a is in its own depends_on, so it could never start. Remove
}
