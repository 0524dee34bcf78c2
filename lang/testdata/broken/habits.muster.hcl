# Habits of other tools, and what is told of a phase whose grid is wrong.
campaign "c" {}
phase "t" {
  for_each = toset(["a"]) # ERROR: in a phase block. A phase has one job for each cell of its grid
  count    = 3            # ERROR: in a phase block. A phase has one job for each cell of its grid
  backend  = backend.ssh.lab # ERROR: place { candidates = [backend.TYPE.NAME] }, in the phase.
  depends_on = "u"        # ERROR: A list is needed: depends_on = […].
  job {
    command = "x ${grid.a}" # ERROR: The value of an axis is cell.AXIS.
    timeout = "4h"          # ERROR: The limit of an attempt is walltime, in resources
  }
}
phase "u" {
  grid { axis = { a = [1] } } # ERROR: There is no attribute named "axis" in a grid block; did you mean "axes"?
  job {
    command = "x ${cell.a}"
    resources {
      cpus  = "four" # ERROR: Invalid cpus
      nodes = -1     # ERROR: At least 1 is needed, -1 was found.
      gpus  = 1e12   # ERROR: At most 2147483648 is possible, 1000000000000 was found.
    }
  }
}
phase "v" {
  grid { axes = [1, 2] } # ERROR: An object is needed
  job { command = "x" }
}
variable "names" {
  type    = list # ERROR: Write list(string), list(number) or list(any).
  default = []
}
backend "ssh" "lab" {
  host = "h"
  gpu  = [0] # ERROR: There is no attribute named "gpu" in a backend ssh block; did you mean "gpus"?
}
