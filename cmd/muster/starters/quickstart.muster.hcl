# A first campaign: a small sweep on this machine, then a summary of it.
#
#   muster plan      the jobs that would run, and their time
#   muster apply     runs them; interrupt it at any time, the same command continues

campaign "quickstart" {
  description = "A sweep over two axes, and a summary"
}

# Your code. Its content determines results, and jobs start in a read-only copy of
# these files: list every file that the program opens or imports.
# source { include = ["**/*.py"] }

grid "sweep" {
  axes = {
    lr   = [0.1, 0.01, 0.001]
    seed = [1, 2]
  }
}

phase "train" {
  grid = grid.sweep
  job {
    # Replace this with your own program; ${output.result} is where it must write.
    command = "printf '{\"lr\": %s, \"seed\": %s, \"loss\": %s}\\n' ${cell.lr} ${cell.seed} $(( ${cell.seed} * 10 )) > ${output.result}"
    resources {
      cpus     = 1
      walltime = "1m"
    }
    output "result" {
      path   = "results/lr${cell.lr}-seed${cell.seed}.json"
      verify = "json"
    }
    metric "loss" {
      output = "result"
      json   = "/loss"
    }
  }
}

phase "summary" {
  job {
    command = "while read -r f; do cat \"$f\"; done < ${input_file.results} > ${output.table}"
    input "results" { from_all = phase.train.output.result }
    resources { walltime = "1m" }
    output "table" {
      path   = "results/all.jsonl"
      verify = "jsonl"
    }
  }
}

result "best_loss" { value = min(values(phase.train.metric.loss)...) }
