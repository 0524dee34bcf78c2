result "a" { value = phase.x.metric.loss } # ERROR: There is no phase named "x"; the phases are a.
result "b" { value = phase.a.metric.los } # ERROR: phase.a has no metric "los"; did you mean "loss"?
result "c" { value = phase.a.outputs.o } # ERROR: A result reads phase.NAME.metric.M and phase.NAME.output.O:
result "d" { value = min(phase.a.metric.loss) }
result "e" { value = cell.N } # ERROR: There is no cell here: cells are those of a phase's grid, in its job,
result "f" { value = metric.loss } # ERROR: A metric is known when its job has run: the condition of a smoke's
result "g" { value = phase.a } # ERROR: A result reads phase.NAME.metric.M and phase.NAME.output.O:
result "h" {} # ERROR: A result block needs value = …: reads `phase.NAME.metric.M` and
result "i" { value = nosuch(1) } # ERROR: There is no function named "nosuch"; docs/reference/functions.md
result "j" { value = phase.a["N=1"].metric.loss } # ERROR: A result reads phase.NAME.metric.M and phase.NAME.output.O:
result "k" { value = phase.a.metric } # ERROR: A result reads phase.NAME.metric.M and phase.NAME.output.O:
result "l" { value = min(values(phase.a.metric.loss)...) }
result "m" { value = { for k, v in phase.a.metric.loss : k => v if v < 3 } }
result "s" { value = min(phase.a.metric.loss...) } # ERROR: phase.a.metric.loss is a map from key to value, and ... spreads a list. Write values(phase.a.metric.loss)...
result "n" { value = phase.a.metric[var.q] } # ERROR: A result reads phase.NAME.metric.M and phase.NAME.output.O:
phase "a" {
  grid { axes = { N = [1,2] } }
  job { 
    command = "x ${cell.N}" 
    output "o" { path = "o${cell.N}" }
    metric "loss" {
      output = "o"
      regex = "(x" # ERROR: "(x" is not a regular expression (RE2): error parsing regexp: missing
    }
  }
}
