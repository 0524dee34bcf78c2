campaign "c" {}
phase "t" {
  job {
    command = "x"
    output "ck" { path = "ck" }
  }
}
phase "u" {
  grid { axes = { k = ["a", ""] } }
  job {
    command = "x ${cell.k}"
    input "both" { # ERROR: path names files that no phase makes, from belongs to files of another phase.
      path = "a.csv"
      from = phase.t.output.ck
    }
    input "match" { # ERROR: path names files that no phase makes, match belongs to files of another phase.
      path  = "a.csv"
      match = { N = 1 }
    }
  }
}
phase "v" {
  grid { axes = { k = ["a", ""] } }
  job {
    command = "x ${cell.k}"
    input "empty" { path = cell.k } # ERROR: The path "" of the input "empty" is empty.
    input "folder" { path = "data/" } # ERROR: The path "data/" of the input "folder" is a folder; write a pattern
    input "open" { path = "data/[a.csv" } # ERROR: The path "data/[a.csv" of the input "open" is not a pattern
    input "own" { path = ".muster/x" } # ERROR: The path ".muster/x" of the input "own" is in muster's own folder.
    input "line" { path = "a\nb" } # ERROR: of the input "line" holds a control character.
    input "where" { path = path.workdir } # ERROR: path.workdir is known where the job runs; a path must be known before.
  }
}
