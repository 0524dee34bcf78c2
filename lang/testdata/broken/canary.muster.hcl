phase "unknown" {
  params = { steps = 1000 }
  job { command = "run ${param.steps}" }
  smoke {
    params = { steps = 5 }
    canary {
      params = { stps = 50 } # ERROR: there is no param "stps"; did you mean "steps"?
      expect {
        condition = metric.lss < 3 # ERROR: There is no metric named "lss"
      }
    }
  }
}
phase "more" {
  params = { steps = 1000 }
  job { command = "run ${param.steps}" }
  smoke {
    params = { steps = 5 }
    canary {
      params   = { steps = 20 }
      walltime = "2h" # ERROR: A canary changes params and adds checks
    }
  }
}
phase "same" {
  params = { steps = 1000 }
  job { command = "run ${param.steps}" }
  smoke {
    params = { steps = 5 }
    canary { params = {} } # ERROR: A canary runs longer than its smoke: name the params that make it longer
  }
}
