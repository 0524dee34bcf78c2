phase "t" {
  grid { axes = { N = [384, 512] } }
  job {
    command = "x ${cell.N} ${output.ck}"
    output "ck" { path = "t${cell.N}" }
  }
}
phase "s" {
  grid { axes = { N = ["384", 768], seed = [1,2] } }
  job {
    command = "x ${cell.N} ${cell.seed} ${input.t}"
    input "t" { from = phase.t.output.ck } # ERROR: phase.s["N=768,seed=1"] takes the input "t" from a job of phase.t # WARNING: The axis "N" holds numbers in one of phase.s and phase.t and texts in
  }
}
phase "u" {
  grid { axes = { seed = [1,2] } }
  job {
    command = "x ${cell.seed} ${input.t}"
    input "t" { from = phase.t.output.ck } # ERROR: phase.u["seed=1"] takes the input "t" from one job of phase.t, but 2
  }
}
phase "w" {
  grid { axes = { hidden = [384,513] } }
  job {
    command = "x ${cell.hidden} ${input.t}"
    input "t" { # ERROR: phase.w["hidden=513"] takes the input "t" from a job of phase.t with
      from = phase.t.output.ck 
      match = { N = cell.hidden }
    }
  }
}
phase "v" {
  grid { axes = { hidden = [384,512] } }
  job {
    command = "x ${cell.hidden} ${input.t} ${input_file.q}"
    input "t" { 
      from = phase.t.output.ck 
      match = { M = cell.hidden } # ERROR: phase.t, the producer, has no axis named "M"; its axes are N.
    }
    input "r" { from = phase.t.output.ckk } # ERROR: phase.t has no output "ckk"; did you mean "ck"?
    input "q" { from = phase.tt.output.ck } # ERROR: There is no phase named "tt"; the phases are s, t, u, v, w.
    input "z" {} # ERROR: Write from = phase.NAME.output.OUTPUT, or from_all for a list, or path = "FILE" for a file that no phase makes, in
    input "y" { from = phase.t.metric.x } # ERROR: Write an output of a phase: phase.NAME.output.OUTPUT.
    input "x" { from = var.foo } # ERROR: Write an output of a phase: phase.NAME.output.OUTPUT.
  }
}
