# A real teacher/student campaign on a real, small data set: compile the
# trainer, train teachers of four sizes, distil each into 36 students, and sum
# up. Everything runs on this machine; Go is all it needs.

campaign "distill" {
  description = "Iris: 4 teachers, 36 students"
}

variable "epochs" {
  type        = number
  default     = 400
  description = "Passes over the data of every teacher; change it and see what runs again"
}

backend "local" "local" {}

budget "laptop" {
  limits = { cpu_hours = 8 }
}

source {
  include = ["trainer/**", "data/*.csv"]
}

grid "students" {
  axes = {
    teacher = [4, 8, 16, 32]
    student = [2, 3, 5]
    seed    = [1, 2, 3]
  }
}

phase "build" {
  job {
    command = "CGO_ENABLED=0 go build -o ${output.trainer} trainer/main.go trainer/network.go trainer/data.go trainer/summary.go"
    resources {
      cpus     = 2
      walltime = "5m"
    }
    output "trainer" {
      path     = "out/trainer"
      verify   = "nonempty"
      min_size = "1MiB"
    }
  }
}

phase "teachers" {
  grid { axes = { teacher = [4, 8, 16, 32] } }

  params = { epochs = var.epochs }
  job {
    name = "teacher-${cell.teacher}"
    # A job that takes more memory than it asked for is told so, as a cluster
    # would tell it: the largest teacher fails at its first attempt, and gets
    # half as much again for its second.
    setup   = "ulimit -d $((MUSTER_MEMORY / 1024))"
    command = <<-SH
      ${input.trainer} teacher -data data/iris.csv -hidden ${cell.teacher} -epochs ${param.epochs} \
        -cache ${cell.teacher * 8} -out ${output.checkpoint} -log ${output.log}
    SH
    input "trainer" { from = phase.build.output.trainer }
    resources {
      cpus     = 1
      memory   = "256MiB"
      walltime = "2m"
    }
    output "checkpoint" {
      path   = "out/teachers/${cell.teacher}.zip"
      verify = "zip"
    }
    output "log" {
      path   = "out/teachers/${cell.teacher}.json"
      verify = "json"
    }
    metric "loss" {
      output = "log"
      json   = "/final/loss"
    }
    metric "accuracy" {
      output = "log"
      json   = "/final/accuracy"
    }
  }

  # The smallest teacher for five epochs, before anything else.
  smoke {
    params   = { epochs = 5 }
    walltime = "1m"
    cells    = "first"
    expect {
      condition = metric.loss < 2
      message   = "the loss diverged in the smoke"
    }
  }

  retry {
    on           = ["oom"]
    max_attempts = 2
    delay        = "1s"
    scale "oom_host" { memory = 1.5 }
  }
}

phase "students" {
  grid   = grid.students
  params = { epochs = 3000 }
  job {
    name    = "student-${cell.teacher}-${cell.student}-${cell.seed}"
    command = "${input.trainer} student -data data/iris.csv -teacher ${input.teacher} -hidden ${cell.student} -epochs ${param.epochs} -seed ${cell.seed} -out ${output.result}"
    input "trainer" { from = phase.build.output.trainer }
    input "teacher" { from = phase.teachers.output.checkpoint } # each waits for its own
    resources {
      cpus     = 1
      walltime = "1m"
    }
    output "result" {
      path   = "out/students/t${cell.teacher}-h${cell.student}-s${cell.seed}.json"
      verify = "json"
    }
    metric "accuracy" {
      output = "result"
      json   = "/final/accuracy"
    }
  }
}

phase "summary" {
  job {
    command = "${input.trainer} summary -list ${input_file.results} -table ${output.table} -plot ${output.plot}"
    input "trainer" { from = phase.build.output.trainer }
    input "results" { from_all = phase.students.output.result }
    resources {
      cpus     = 1
      walltime = "1m"
    }
    output "table" {
      path   = "out/summary.csv"
      verify = "csv"
    }
    output "plot" {
      path   = "out/accuracy.svg"
      verify = "nonempty"
    }
  }
}

result "best_student" {
  description = "Highest accuracy of any student"
  value       = max(values(phase.students.metric.accuracy)...)
}
