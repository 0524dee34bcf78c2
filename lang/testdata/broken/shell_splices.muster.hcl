phase "a" {
  grid {
    axes = { f = ["a b.txt", "c;d", "$x", "e'f", "ok"], u = [1,2] }
  }
  job {
    name = "l-${cell.f}-${cell.u}"
    command = "cat ${cell.f} > ${output.o} ; echo '${cell.f}' \"${cell.f}\" ${shellquote(cell.f)} ${cell.u}" # WARNING: In phase.a["f=\"$x\",u=1"] the value "$x" of the axis "f" goes into a # WARNING: In phase.a["f=\"$x\",u=1"] the value "$x" of the axis "f" goes into a # WARNING: In phase.a["f=\"$x\",u=1"], the path of output.o ("out/$x/1") goes # WARNING: In phase.a["f=\"e'f\",u=1"] the value "e'f" of the axis "f" goes into
    output "o" { path = "out/${cell.f}/${cell.u}" }
  }
}
phase "b" {
  job {
    command = "cat ${input.all} ${input.all[0]} ${join(" ", input.all)} ${length(input.all)} ${input_file.all}" # WARNING: In phase.a["f=\"$x\",u=1"], the path of input.all ("out/$x/1") goes # WARNING: In phase.a["f=\"$x\",u=1"], the path of input.all ("out/$x/1") goes # WARNING: In phase.a["f=\"$x\",u=1"], the path of input.all ("out/$x/1") goes
    input "all" { from_all = phase.a.output.o }
  }
}
