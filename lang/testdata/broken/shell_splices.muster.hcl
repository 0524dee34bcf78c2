phase "a" {
  grid {
    axes = { f = ["a b.txt", "c;d", "$x", "e'f", "ok"], u = [1,2] }
  }
  job {
    name = "l-${cell.f}-${cell.u}"
    command = "cat ${cell.f} > ${output.o} ; echo '${cell.f}' \"${cell.f}\" ${shellquote(cell.f)} ${cell.u}" # WARNING: In phase.a["f=\"$x\",u=1"] the value "$x" of the axis "f" goes into a # WARNING: In phase.a["f=\"$x\",u=1"] the value "$x" of the axis "f" goes into a # ERROR: In phase.a["f=\"a b.txt\",u=1"], the path of output.o ("out/a b.txt/1") goes # WARNING: In phase.a["f=\"e'f\",u=1"] the value "e'f" of the axis "f" goes into
    output "o" { path = "out/${cell.f}/${cell.u}" }
  }
}
phase "b" {
  job {
    command = "cat ${input.all} ${input.all[0]} ${join(" ", input.all)} ${length(input.all)} ${input_file.all}" # ERROR: In phase.a["f=\"a b.txt\",u=1"], the path of input.all ("out/a b.txt/1") goes # ERROR: In phase.a["f=\"a b.txt\",u=1"], the path of input.all ("out/a b.txt/1") goes # ERROR: In phase.a["f=\"a b.txt\",u=1"], the path of input.all ("out/a b.txt/1") goes
    input "all" { from_all = phase.a.output.o }
  }
}
phase "dollar" {
  grid {
    axes = { f = ["$x", "ok"] }
  }
  job {
    command = "cat data/in > ${output.o}" # WARNING: In phase.dollar["f=\"$x\""], the path of output.o ("dollar/$x") goes
    output "o" { path = "dollar/${cell.f}" }
  }
}
phase "quoted" {
  grid {
    axes = { f = ["a b", "ok"] }
  }
  job {
    command = "cat '${input.raw}' > \"${output.o}\" ; echo ${basename(output.o)}" # WARNING: the path of output.o ("quoted/a b") goes
    input "raw" { path = "data/my file" }
    output "o" { path = "quoted/${cell.f}" }
  }
}
phase "raw" {
  job {
    command = "cat ${input.raw} ${input.many}" # ERROR: In phase.raw, the path of input.raw ("data/my file") goes # ERROR: In phase.raw, the path of input.many ("my data") goes
    input "raw" { path = "data/my file" }
    input "many" { path = "my data/*.csv" }
  }
}
phase "heredoc" {
  job {
    command = <<-SH
      cat > list <<'EOF'
      it's ${input.raw}
      EOF
      cat list > ${output.o} # ERROR: In phase.heredoc, the path of output.o ("here/a b") goes
    SH
    input "raw" { path = "data/my file" }
    output "o" { path = "here/a b" }
  }
}
phase "substituted" {
  job {
    command = "echo \"$(cat ${input.raw}) ${input.raw} $(cat \"${input.raw}\")\" > \"${output.o}\"" # ERROR: In phase.substituted, the path of input.raw ("data/my file") goes
    input "raw" { path = "data/my file" }
    output "o" { path = "sub/a b" }
  }
}
