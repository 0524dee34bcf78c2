grid "g" { axes = { who = ["a b", "c", "d'e"] } }
phase "bare" {
  grid = grid.g
  job { command = "echo ${cell.who}" } # WARNING: In phase.bare["who=\"a b\""] the value "a b" of the axis "who"
}
phase "quoted" {
  grid = grid.g
  job {
    command = <<-EOT
      echo "${cell.who}" # it's fine: ${cell.who}
      echo '${cell.who}' ${shellquote(cell.who)} # WARNING: the value "d'e"
    EOT
  }
}
phase "list" {
  grid = grid.g
  job { command = ["echo", cell.who] }
}
phase "path" {
  grid = grid.g
  job {
    command = "make ${output.o}" # ERROR: the path of output.o ("o/a b")
    output "o" { path = "o/${cell.who}" }
  }
}
