phase "home" {
  job { command = "ls ${HOME} ${!NAME}" } # ERROR: write $${HOME} # ERROR: write $${!NAME}
}
phase "empty" {
  job { command = [] } # ERROR: The list is empty
}
phase "blank" {
  job { command = " " } # ERROR: The command is empty
}
phase "number" {
  job { command = { a = 1 } } # ERROR: A string is needed, this is an object
}
phase "names" {
  params = { steps = 3 }
  job {
    command = "run ${param.step} ${output.x} ${input.y} ${path.wrkdir} ${loacl.z}" # ERROR: no param named "step"; did you mean "steps"? # ERROR: no output named "x" # ERROR: no input named "y" # ERROR: did you mean "workdir"? # ERROR: did you mean "local"?
    env     = { "A B" = "x" } # ERROR: cannot name an environment variable
    name    = "${output.x}" # ERROR: no output named "x"
  }
}
phase "function" {
  job { command = "run ${uper("x")}" } # ERROR: uper
}
phase "late" {
  job {
    command = "true ${output.o}"
    name    = output.o # ERROR: output.o is known where the job runs; a label must be known before
    output "o" { path = "o" }
  }
}
