# One short job on a machine rented at Paperspace. The key is $PAPERSPACE_API_KEY. Try
# it on the simulator first: docs/guide/rented.md.
#
#   muster plan      the highest cost; rents nothing
#   muster apply     asks, rents, runs the job, and fetches and checks its result
#   muster pull      copies the result into outputs/
#   muster destroy   gives the machine back, and waits until Paperspace says so

campaign "rented" {}

backend "paperspace" "cloud" {
  gpu              = ["A4000"]
  disk             = "50GB"
  max_usd_per_hour = 0.90 # with the disk: muster rents and keeps nothing more expensive
  auto_shutdown    = "2h" # Paperspace itself stops the machine then
  workdir          = "/home/paperspace/work"
  hold             = "10m" # after the last job, while muster runs
  on_hold          = "release"
}

budget "money" {
  limits = { usd = 3 }
}

phase "gpu" {
  place { candidates = [backend.paperspace.cloud] }
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
