phase "p" {
  params = { steps = 1000 }
  job {
    command = "run ${param.steps} --out ${output.o}"
    output "o" { path = "o" }
    output "log" { path = "log" } # ERROR: An output that the job does not take
    metric "loss" {
      output = "lgo" # ERROR: no output "lgo"; did you mean "log"?
      json   = "final/loss" # ERROR: is not a JSON pointer
    }
    metric "two" { # ERROR: A metric is read in one way
      output = "o"
      json   = "/x"
      column = "y"
    }
  }
  smoke {
    params    = { step = 5 } # ERROR: there is no param "step"; did you mean "steps"?
    resources = {} # ERROR: A smoke may change only params, walltime, place and its own checks
    cells     = "frist" # ERROR: did you mean "first"?
    expect {
      condition = metric.lss < 3 # ERROR: did you mean "loss"?
    }
  }
  pilot { cells = [{ N = 3 }] } # ERROR: There is no axis named "N"
  retry {
    on     = ["oom"]
    params = {} # ERROR: A retry may scale resources and change the pool
  }
}
