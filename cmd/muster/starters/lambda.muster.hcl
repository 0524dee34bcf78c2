# One short job on a machine rented at Lambda. The key is $LAMBDA_API_KEY. Try it on
# the simulator first: docs/guide/rented.md.
#
#   muster plan      the highest cost; rents nothing
#   muster apply     asks, rents, runs the job, and fetches and checks its result
#   muster pull      copies the result into outputs/
#   muster destroy   gives the machine back, and waits until Lambda says so
#
# Lambda has no stop, and no key that can end only one machine: while muster is off,
# nothing ends a machine. Let apply finish, or run destroy.

campaign "rented" {}

backend "lambda" "cloud" {
  gpu              = ["A10"]
  max_usd_per_hour = 1.40 # muster rents nothing more expensive
  workdir          = "/home/ubuntu/work"
  hold             = "10m" # after the last job, while muster runs
  on_hold          = "release"
}

budget "money" {
  limits = { usd = 6 }
}

phase "gpu" {
  place { candidates = [backend.lambda.cloud] }
  job {
    command = "nvidia-smi --query-gpu=name,memory.total --format=csv,noheader > ${output.gpu}"
    resources {
      gpus     = 1
      walltime = "10m"
    }
    output "gpu" {
      path   = "gpu.txt"
      verify = "nonempty"
    }
  }
}
