phase "p1" {
  grid { axes = { N = [1, 2], seed = [3] } }
  job { command = "x ${cell.N} ${cell.seed} ${upper("a", "b")}" } # ERROR: Write upper(str). In the cell N=1,seed=3.
}
phase "p2" {
  grid { axes = { N = [1, 2], seed = [3] } }
  job { command = "x ${cell.N} ${cell.seed} ${linspace(1)}" } # ERROR: end is missing. Write linspace(start, end, n).
}
phase "p3" {
  grid { axes = { N = [1, 2], seed = [3] } }
  job { command = "x ${cell.N} ${cell.seed} ${file("nope")}" } # ERROR: Argument path: there is no file nope. In the
}
phase "p4" {
  grid { axes = { N = [1, 2], seed = [3] } }
  job { command = "x ${cell.N} ${cell.seed} ${seeds(-1, 2)}" } # ERROR: Argument n: n must be a whole number from 0 to
}
phase "p5" {
  grid { axes = { N = [1, 2], seed = [3] } }
  job { command = "x ${cell.N} ${cell.seed} ${1/0}" } # ERROR: The number is infinite: something is divided by zero, or grows beyond
}
phase "p6" {
  grid { axes = { N = [1, 2], seed = [3] } }
  job { command = "x ${cell.N} ${cell.seed} ${tonumber("x")}" } # ERROR: Argument v: cannot convert "x" to number; given
}
phase "p7" {
  grid { axes = { N = [1, 2], seed = [3] } }
  job { command = "x ${cell.N} ${cell.seed} ${[1][5]}" } # ERROR: The given key does not identify an element in this collection value.
}
phase "p8" {
  grid { axes = { N = [1, 2], seed = [3] } }
  job { command = "x ${cell.N} ${cell.seed} ${{}.a}" } # ERROR: This object does not have an attribute named "a". In the cell
}
phase "p9" {
  grid { axes = { N = [1, 2], seed = [3] } }
  job { command = "x ${cell.N} ${cell.seed} ${null}" } # ERROR: The value is null, and a string cannot contain null.
}
phase "p10" {
  grid { axes = { N = [1, 2], seed = [3] } }
  job { command = "x ${cell.N} ${cell.seed} ${"a" + 1}" } # ERROR: Unsuitable value for left operand: a number is required. In the cell
}
phase "p11" {
  grid { axes = { N = [1, 2], seed = [3] } }
  job { command = "x ${cell.N} ${cell.seed} ${templatefile("x", {})}" } # ERROR: Argument path: there is no file x. In the cell
}
phase "p12" {
  grid { axes = { N = [1, 2], seed = [3] } }
  job { command = "x ${cell.N} ${cell.seed} ${regex("(", "x")}" } # ERROR: Argument pattern: invalid regexp pattern:
}
phase "p13" {
  grid { axes = { N = [1, 2], seed = [3] } }
  job { command = "x ${cell.N} ${cell.seed} ${cell.N.x}" } # ERROR: Can't access attributes on a primitive-typed value (number). In the
}
phase "p15" {
  grid { axes = { N = [1, 2], seed = [3] } }
  job { command = "x ${cell.N} ${cell.seed} ${cell[0]}" } # ERROR: Write cell.AXIS or cell.key; a cell has no numbered parts.
}
phase "p18" {
  grid { axes = { N = [1, 2], seed = [3] } }
  job { command = "x ${cell.N} ${cell.seed} ${[1,2]}" } # ERROR: Cannot include the given value in a string template: string required,
}
phase "p19" {
  grid { axes = { N = [1, 2], seed = [3] } }
  job { command = "x ${cell.N} ${cell.seed} ${{a=1}}" } # ERROR: Cannot include the given value in a string template: string required,
}
phase "p22" {
  grid { axes = { N = [1, 2], seed = [3] } }
  job { command = "x ${cell.N} ${cell.seed} ${var.x}" } # ERROR: There is no variable named "x"; the variables are v.
}
phase "p23" {
  grid { axes = { N = [1, 2], seed = [3] } }
  job { command = "x ${cell.N} ${cell.seed} ${range(0, 1e12)}" } # ERROR: The list would have over 1000000
}
phase "p24" {
  grid { axes = { N = [1, 2], seed = [3] } }
  job { command = "x ${cell.N} ${cell.seed} ${logspace(0,1)}" } # ERROR: n is missing. Write logspace(start, end, n). In
}
phase "p25" {
  grid { axes = { N = [1, 2], seed = [3] } }
  job { command = "x ${cell.N} ${cell.seed} ${seeds(3)}" } # ERROR: base is missing. Write seeds(n, base). In
}
phase "p26" {
  grid { axes = { N = [1, 2], seed = [3] } }
  job { command = "x ${cell.N} ${cell.seed} ${format("%d", "x")}" } # ERROR: Unsupported value for "%d" at 0: a
}
phase "p27" {
  grid { axes = { N = [1, 2], seed = [3] } }
  job { command = "x ${cell.N} ${cell.seed} ${param}" } # ERROR: Write param.NAME; there is none here.
}
phase "p29" {
  grid { axes = { N = [1, 2], seed = [3] } }
  job { command = "x ${cell.N} ${cell.seed} ${input}" } # ERROR: Write input.NAME; there is none here.
}
phase "p31" {
  grid { axes = { N = [1, 2], seed = [3] } }
  job { command = "x ${cell.N} ${cell.seed} ${cell.seeds}" } # ERROR: There is no axis named "seeds"; did you mean "seed"?
}
phase "p32" {
  grid { axes = { N = [1, 2], seed = [3] } }
  job { command = "x ${cell.N} ${cell.seed} ${seed}" } # ERROR: There is no value named "seed" here; did you mean cell.seed? For the
}
phase "p33" {
  grid { axes = { N = [1, 2], seed = [3] } }
  job { command = "x ${cell.N} ${cell.seed} ${one([1,2])}" } # ERROR: Argument list: must have one element or none. Write one(list). In
}
phase "p34" {
  grid { axes = { N = [1, 2], seed = [3] } }
  job { command = "x ${cell.N} ${cell.seed} ${timestamp()}" } # ERROR: There is no function named "timestamp": a plan must not depend on when
}
phase "p35" {
  grid { axes = { N = [1, 2], seed = [3] } }
  job { command = "x ${cell.N} ${cell.seed} ${uuid()}" } # ERROR: There is no function named "uuid": a plan must not depend on when
}
phase "p36" {
  grid { axes = { N = [1, 2], seed = [3] } }
  job { command = "x ${cell.N} ${cell.seed} ${1e400}" } # ERROR: The number 1e+400 is too large: integers have at most 154 digits. In
}
phase "words" {
  grid { axes = { N = [1, 2], seed = [3] } }
  params = { steps = 3 }
  job {
    command = <<-EOT
      run ${cell.N} ${cell.seed} $${HOME} \
        ${seed} \ # ERROR: There is no value named "seed" here; did you mean cell.seed? For the
        ${steps} \ # ERROR: There is no value named "steps" here; did you mean param.steps? For
        ${out} \ # ERROR: There is no value named "out" here; did you mean output.out? For the
        ${v} \ # ERROR: There is no value named "v" here; did you mean var.v? For the shell's
        ${HOME} \ # ERROR: There is no value named "HOME" here; expressions here begin with
        ${each.key} ${count.index} \ # ERROR: A job's own values are cell.AXIS, its key is cell.key. # ERROR: A job's own values are cell.AXIS, its key is cell.key.
        ${metric.loss} ${phase.p.metric.loss} \ # ERROR: A metric is known when its job has run: the condition of a smoke's # ERROR: Only results read phase.NAME.metric.M and
        ${env.HOME} ${param} ${input} ${terraform.workspace} # ERROR: The campaign's folder is path.workdir in a job; other names of # ERROR: Variables of muster's own environment are not read by expressions, so # ERROR: Write input.NAME; there is none here. # ERROR: Write param.NAME; there is param.steps.
    EOT
    output "out" { path = "w${cell.N}" }
  }
}
variable "v" { default = 1 }
