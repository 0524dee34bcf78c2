package sim

import "github.com/muster-run/muster/providers/offer"

// Type is the type of backend that this provider serves.
const Type = "sim"

// Schema says what `backend "sim"` may hold. It starts nothing by itself:
// dependencies, retries and caps are the engine's, as on a rental. It guards
// files because it writes none.
func Schema() offer.Schema {
	return offer.Schema{
		Type:    Type,
		Version: "1",
		Config: offer.Block{
			Attrs: []offer.Attr{
				{Name: "seed", Type: offer.Number, Default: "1", Doc: "Whole number from which everything is drawn: the same seed draws the same queue waits, runtimes and failures."},
				{Name: "filesystem", Type: offer.String, Default: `"sim"`, Doc: "Name of the files that its jobs see: two simulated backends of one name and workdir see the same, and between others files are moved."},
				{Name: "bandwidth", Type: offer.Size, Doc: "Bytes a second over its link, which moves files one after another. Default: no limit."},
			},
			Blocks: []offer.NestedBlock{
				{Name: "pool", Many: true, Doc: "A partition, an offer, a kind of machine. Without one there is one pool that takes everything.", Block: offer.Block{Attrs: pool()}},
				{Name: "jobs", Many: true, Doc: "Runtimes and failures of jobs. Of several blocks, the first that names a job's phase applies. Without one, a job takes about half its walltime, in nine of ten cases at most all of it, and never fails.", Block: offer.Block{Attrs: jobs()}},
				{Name: "outage", Many: true, Doc: "A time in which the backend cannot be asked. Running jobs continue.", Block: offer.Block{Attrs: []offer.Attr{
					{Name: "after", Type: offer.Duration, Required: true, Doc: "Time from the first submission to the beginning."},
					{Name: "lasts", Type: offer.Duration, Required: true, Doc: "How long it lasts, more than 0."},
				}}},
				{Name: "price_change", Many: true, Doc: "A pool bills another price than quoted, from some time on.", Block: offer.Block{Attrs: []offer.Attr{
					{Name: "pool", Type: offer.String, Doc: "The pool; every one by default."},
					{Name: "after", Type: offer.Duration, Default: `"0s"`, Doc: "Time from the first submission."},
					{Name: "launches", Type: offer.NumberList, Doc: "Only these launches on the pool, counted from 1 in the order in which they start, over all applies: [6] is the sixth."},
					{Name: "factor", Type: offer.Number, Required: true, Doc: "The bill of launches that start later, as a multiple of the price; 2 is double."},
				}}},
			},
		},
		Can: offer.Capabilities{Arrays: true, GPUs: true, Events: true, Transfer: true, Accounting: true, Holds: true, Guard: true},
	}
}

func pool() []offer.Attr {
	return []offer.Attr{
		{Name: "name", Type: offer.String, Doc: "Name of the pool; the block's label says it, too."},
		{Name: "word", Type: offer.String, Default: `"partition"`, OneOf: []string{"partition", "queue", "offer", "machine"}, Doc: "The site's word for it. An offer is rented; a machine's cores and memory are all there is."},
		{Name: "slots", Type: offer.Number, Doc: "Most of our jobs running at once, at least 1. Default: as many as its GPUs or, without GPUs, its cores allow."},
		{Name: "max_submit", Type: offer.Number, Doc: "Most of our jobs queued or running at once, at least 1. Default: no limit; of an offer, which has no queue, the number of its nodes."},
		{Name: "nodes", Type: offer.Number, Default: "1", Doc: "Number of nodes, at least 1."},
		{Name: "cpus", Type: offer.Number, Doc: "Cores of a node. Default: as many as a job asks for."},
		{Name: "memory", Type: offer.Size, Doc: "Memory of a node. Default: as much as a job asks for."},
		{Name: "gpus", Type: offer.Number, Default: "0", Doc: "GPUs of a node."},
		{Name: "gpu", Type: offer.String, Doc: "Model of the GPUs, by the name the field uses: A100."},
		{Name: "gpu_memory", Type: offer.Size, Doc: "Memory of a GPU."},
		{Name: "max_walltime", Type: offer.Duration, Doc: "Longest walltime of a job. Default: no limit."},
		{Name: "wait", Type: offer.Duration, Default: `"0s"`, Doc: "Median time that a job waits in the queue before it may start, beside the room that it needs."},
		{Name: "wait_p90", Type: offer.Duration, Doc: "The time that nine of ten jobs wait at most, at least the median. Default: the median."},
		{Name: "boot", Type: offer.Duration, Default: `"0s"`, Doc: "Time that a machine takes to come up before its job starts."},
		{Name: "usd_per_gpu_hour", Type: offer.Number, Doc: "Money for each device-hour."},
		{Name: "usd_per_cpu_hour", Type: offer.Number, Doc: "Money for each core-hour."},
		{Name: "usd_per_hour", Type: offer.Number, Doc: "Money for each hour of a node. Without it, the cost of an offer is unknown; 0 is free."},
		{Name: "su_per_gpu_hour", Type: offer.Number, Doc: "Service units for each device-hour. If other pools charge service units, the charge of a pool without a rate is unknown; 0 is free."},
		{Name: "su_per_cpu_hour", Type: offer.Number, Doc: "Service units for each core-hour."},
		{Name: "su_per_node_hour", Type: offer.Number, Doc: "Service units for each node-hour."},
		{Name: "granularity", Type: offer.Duration, Doc: "Bills are rounded up to a multiple of this. Default: none."},
		{Name: "whole_node", Type: offer.Bool, Default: "false", Doc: "Whether whole nodes are charged."},
		{Name: "testing", Type: offer.Bool, Default: "false", Doc: "Whether the pool is meant for smokes."},
		{Name: "spot", Type: offer.Bool, Default: "false", Doc: "Whether machines may be taken away while a job runs. Plans warn of phases without a checkpoint."},
	}
}

func jobs() []offer.Attr {
	return []offer.Attr{
		{Name: "phases", Type: offer.StringList, Doc: "Names of the phases to which the block applies; all by default."},
		{Name: "runtime", Type: offer.Duration, Doc: "Median runtime. Default: half the walltime, or an hour without one."},
		{Name: "runtime_p90", Type: offer.Duration, Doc: "Runtime that nine of ten jobs do not exceed, at least the median. Default: the median, or the whole walltime if there is no `runtime`."},
		{Name: "memory", Type: offer.Size, Doc: "Peak memory that a job reports. Default: half of its request."},
		{Name: "output_size", Type: offer.Size, Doc: "Size of each output. Default: the least that it may have."},
		{Name: "metrics", Type: offer.Any, Doc: "Values of the metrics that the jobs declare, by name: { loss = 0.1 }. Default: 1."},
		{Name: "fails", Type: offer.Any, Doc: "Share of launches that fail, by failure class: { oom_gpu = 0.02, preempted = 0.1 }; each from 0 to 1, together at most 1."},
	}
}
