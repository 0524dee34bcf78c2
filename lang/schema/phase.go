package schema

var phase = &Block{
	Name: "phase", Labels: []string{"name"}, Doc: "A set of jobs from one template over one grid.",
	Attrs: []Attr{
		{Name: "grid", Type: "grid", Doc: "`grid.NAME`; or write the grid inline as a block. Without either: one job."},
		{Name: "params", Type: "map(any)", Default: "{}", Doc: "Values for `param.NAME`; may read `cell`, `var`, `local` and other params."},
		{Name: "depends_on", Type: "list(phase)", Default: "[]", Doc: "Phases that must be done first although this phase reads none of their files."},
		{Name: "max_parallel", Type: "number", Default: "no limit", Doc: "Most jobs of the phase queued or running at once."},
		{Name: "order", Type: "number or bool", Default: "the longest first", Doc: "Expression over `cell` and `param`. Jobs for which it is true, or with the smallest number, start first. It changes no result: edit it at any time, and jobs that are not submitted yet follow it."},
	},
	Blocks: []*Block{
		{Name: "grid", Single: true, Attrs: gridAttrs, Doc: "The phase's own grid.", Hint: axisHint},
		place, source, Job, smoke, pilot, retry, breaker, checkpoint, precondition, lifecycle, trial,
	},
}

var place = &Block{
	Name: "place", Single: true, Doc: "Where the jobs may run.",
	Attrs: []Attr{
		{Name: "candidates", Type: "list(backend)", Default: "by the policy table", Doc: "Backends in order: `[backend.slurm.alpine, backend.ssh.lab]`."},
		{Name: "overflow", Type: "list(backend)", Default: "none", Doc: "Backends, in order, for jobs that would have to wait elsewhere: as many as the budgets allow and as make the phase end sooner. With a `deadline`, only if the phase would miss it. Smokes and pilots run on the phase's first backend; jobs overflow after they have passed."},
		{Name: "prefer", Type: "string", Default: "the policy table", Doc: "`order`, `cheapest` or `soonest`."},
	},
}

var smoke = &Block{
	Name: "smoke", Single: true, Doc: "A short run of the same job, before larger ones start.",
	Hint: "A smoke may change only params, walltime, place and its own checks. Otherwise its success would prove nothing about the run.",
	Attrs: []Attr{
		{Name: "params", Type: "map(any)", Default: "{}", Doc: "Params that differ from the run's."},
		{Name: "walltime", Type: "duration", Default: "the job's", Doc: "Hard limit of a smoke."},
		{Name: "cells", Type: "string or list", Default: "\"first\"", Doc: "`\"first\"`, `\"ends\"`, `\"all\"`, or a list of partial cells such as `{ N = 384 }`."},
		{Name: "isolated", Type: "bool", Default: "false", Doc: "The program itself writes the outputs of smokes to a different place from those of runs."},
		{Name: "parallel", Type: "bool", Default: "false", Doc: "Run the smokes of the phase at the same time, not one after another."},
		{Name: "forbid", Type: "list(regular expression)", Default: "[]", Doc: "As in `watch`; these patterns apply to the smoke, in addition to the job's."},
		{Name: "repeat", Type: "number", Default: "1", Doc: "How many times each smoke must run, 1 to 10. All runs must agree within `tolerance`."},
		{Name: "tolerance", Type: "number", Default: "0.05", Doc: "With `repeat`: how far the runtimes and numeric metrics of the repeats may differ, as a share of the larger value, 0 to 1. Runtimes that differ by less than a second agree."},
		{Name: "min_throughput", Type: "number", Doc: "Least throughput, as a share of the throughput that earlier smokes of the phase lead muster to expect; more than 0, at most 1. With 0.5, a smoke that takes more than twice the expected time fails. Without an earlier smoke there is no check."},
		{Name: "resume_drill", Type: "bool", Default: "false", Doc: "Ends each smoke, as a preemption does, once it has written its `checkpoint`, and launches it again: the second launch must resume and finish. Needs an `expect` that fails if it began again."},
	},
	Blocks: []*Block{
		place,
		expect, canary,
	},
}

var canary = &Block{
	Name: "canary", Single: true, Doc: "A longer smoke, after the short ones.",
	Hint: "A canary changes params and adds checks. Everything else is that of its smoke.",
	Attrs: []Attr{
		{Name: "params", Type: "map(any)", Required: true, Doc: "Params that differ from the smoke's. Practice has two to four times its length."},
	},
	Blocks: []*Block{expect},
}

var expect = &Block{
	Name: "expect", Doc: "A condition on the smoke's metrics.",
	Attrs: []Attr{
		{Name: "condition", Type: "bool", Required: true, Doc: "Reads `metric.NAME`, `cell`, `param`."},
		{Name: "message", Type: "string", Default: "the condition", Doc: "Message if the condition is false."},
	},
}

var trial = &Block{
	Name: "trial", Single: true, Doc: "Makes the phase a round of an optimisation: its settings are compared, and at most one is promoted.",
	Attrs: []Attr{
		{Name: "hypothesis", Type: "string", Required: true, Doc: "What the round tries to show, in a sentence. `report` and `advise` print it."},
		{Name: "varies", Type: "list(string)", Required: true, Doc: "The axes that define a setting. Every setting does the work of all other axes."},
		{Name: "judge", Type: "string", Required: true, Doc: "`\"jobs_per_hour\"`, `\"cost_per_job\"`, `\"failed_share\"`, or a metric of the phase: `\"metric.loss\"`."},
		{Name: "goal", Type: "string", Doc: "For a metric: `most` or `least`, whichever is better."},
		{Name: "baseline", Type: "map(any)", Required: true, Doc: "The setting that the others are compared with, a value for each axis in `varies`: `{ memory = \"64GB\" }`."},
		{Name: "min_gain", Type: "number", Default: "0.05", Doc: "Share of the baseline's value that a setting must gain to be promoted."},
		{Name: "after", Type: "phase", Doc: "The previous round. This round starts when every job of that one has ended, but not if two rounds in a row gained less than their `min_gain`."},
	},
}

var pilot = &Block{
	Name: "pilot", Single: true, Doc: "Real cells that run alone before the fan-out; their results count.",
	Attrs: []Attr{
		{Name: "cells", Type: "string or list", Default: "\"first\"", Doc: "As in `smoke`."},
	},
}

var retry = &Block{
	Name: "retry", Single: true, Doc: "Which failures muster retries, and how.",
	Hint: "A retry may scale resources and change the pool, but never params or the command, so that results stay comparable.",
	Attrs: []Attr{
		{Name: "on", Type: "list(failure class)", Required: true, Doc: "Classes to retry; `oom` means `oom_gpu`, `oom_host` and `oom_sched`."},
		{Name: "max_attempts", Type: "number", Default: "3", Doc: "Most launches of a job, including the first; at most 10,000."},
		{Name: "delay", Type: "duration", Default: "0s", Doc: "Wait before the next launch."},
	},
	Blocks: []*Block{{
		Name: "scale", Labels: []string{"class"}, Doc: "Factors for the resources of the next launch, after a failure of this class.",
		Attrs: []Attr{
			{Name: "memory", Type: "number", Default: "1", Doc: "Factor on memory."},
			{Name: "cpus", Type: "number", Default: "1", Doc: "Factor on cores."},
			{Name: "gpus", Type: "number", Default: "1", Doc: "Factor on GPUs."},
			{Name: "walltime", Type: "number", Default: "1", Doc: "Factor on the walltime."},
			{Name: "disk", Type: "number", Default: "1", Doc: "Factor on scratch space."},
		},
	}, {
		Name: "on", Labels: []string{"class"}, Doc: "Backends for the launch after a failure of this class. The job stays there for its remaining launches. `scale` of the class applies there, too.",
		Attrs: []Attr{
			{Name: "place", Type: "list(backend)", Required: true, Doc: "Backends, in order, as in `place`: the job goes to the first on which it fits. To name a partition, declare a backend with `partitions`. The plan shows the place, *at most* counts the most expensive one, and the approval covers it. muster makes these launches: with muster off the job waits for your next `muster apply`."},
		},
	}},
}

var breaker = &Block{
	Name: "breaker", Single: true, Doc: "Stops a phase when its jobs fail for the same cause.",
	Attrs: []Attr{
		{Name: "same_error", Type: "number", Default: "3", Doc: "Number of failures in a row, for one cause, that open the breaker; 0 turns this rule off."},
		{Name: "share", Type: "number", Default: "0.15", Doc: "Share of a batch's finished jobs that must fail for one cause to open the breaker, once 20 have finished; 0 turns this rule off."},
	},
}

var checkpoint = &Block{
	Name: "checkpoint", Single: true, Doc: "Lets a later launch continue the work of an earlier one.",
	Attrs: []Attr{
		{Name: "path", Type: "string", Doc: "One file or folder, relative to the workdir; `${checkpoint}` in the command, MUSTER_CHECKPOINT in the job. Set exactly one of `path` and `glob`."},
		{Name: "glob", Type: "string", Doc: "All checkpoints of the job, one file or folder each, as a pattern below the workdir. `${checkpoint}` and MUSTER_CHECKPOINT are then the folder before the first wildcard; the job resumes from the newest in it."},
		{Name: "verify", Type: "string, object or list", Default: "none", Doc: "As in `output`. Before each launch muster opens the checkpoint; with `glob`, the newest first, until one passes. It moves those that fail to `.muster/replaced/`."},
		{Name: "min_size", Type: "size", Default: "0", Doc: "With `verify` or alone: least size of a checkpoint."},
		{Name: "verify_timeout", Type: "duration", Default: "a quarter of the walltime, at least 1m", Doc: "Longest time to verify one. A checkpoint without a verdict keeps the launch from starting; nothing is moved."},
		{Name: "keep", Type: "number", Default: "all", Doc: "With `glob`: how many checkpoints stay, 1 or more, the newest first. muster removes older ones that launches of this job wrote when the job is done; with `verify` or `min_size` also before each launch."},
		{Name: "keep_lowest", Type: "string", Default: "none", Doc: "With `keep`: a metric that the program writes into the names of its checkpoints, as `val_loss=0.12`. The checkpoint with the lowest value stays, too. If none of a job has the metric in its name, none is removed."},
		{Name: "keep_highest", Type: "string", Default: "none", Doc: "As `keep_lowest`, for the highest value."},
		{Name: "copy_to", Type: "string", Default: "muster copies them, while it runs", Doc: "Where rented machines copy checkpoints to by themselves, also with muster off: `ssh://USER@HOST/FOLDER` (SFTP) or `s3://BUCKET/PREFIX`. The next machine resumes from the newest whole copy. The job needs the secrets MUSTER_COPY_KEY (a private key) and MUSTER_COPY_HOST_KEY, or AWS_SECRET_ACCESS_KEY and AWS_ACCESS_KEY_ID; AWS_REGION, AWS_ENDPOINT_URL and AWS_SESSION_TOKEN count, too."},
		{Name: "interval", Type: "duration or \"auto\"", Doc: "MUSTER_CHECKPOINT_INTERVAL, seconds; `\"auto\"` is sqrt(2 × mtbf / nodes × write_time)."},
		{Name: "mtbf", Type: "duration", Doc: "Mean time between failures of one node, for `\"auto\"`."},
		{Name: "write_time", Type: "duration", Doc: "How long it takes to write a checkpoint, for `\"auto\"`."},
		{Name: "step_time", Type: "duration", Doc: "How long one step of the work takes. MUSTER_CHECKPOINT_STEPS is then the interval in steps, rounded down to two digits."},
		{Name: "signal", Type: "string", Doc: "Signal that the job gets `grace` before the end, such as `\"USR1\"`, where the backend can send it."},
		{Name: "grace", Type: "duration", Default: "60s with a signal", Doc: "How long before the end the signal is sent."},
		{Name: "max_loss", Type: "duration", Doc: "Longest time whose work may be lost. A longer interval is an error."},
	},
}

var precondition = &Block{
	Name: "precondition", Doc: "Must be true before muster spends anything. Set exactly one of `condition`, `file` and `command`.",
	Attrs: []Attr{
		{Name: "condition", Type: "bool", Doc: "Evaluated at plan time; may read `cell` and `param`."},
		{Name: "file", Type: "string", Doc: "A file on the backend, relative to the workdir. muster checks it at plan time and again before each launch."},
		{Name: "min_size", Type: "size", Default: "0", Doc: "With `file`: least size of the file."},
		{Name: "command", Type: "string", Doc: "A shell command that muster runs on this machine, in the campaign's folder, before it sends anything; exit code 0 passes. May read `cell` and `param`."},
		{Name: "message", Type: "string", Default: "the condition, file or command", Doc: "What to do about it."},
	},
}

var lifecycle = &Block{
	Name: "lifecycle", Single: true, Doc: "Rules about re-running.",
	Attrs: []Attr{
		{Name: "ignore_changes", Type: "list(field)", Default: "[]", Doc: "Fields whose change re-runs nothing: " + ignorableDoc() + "."},
		{Name: "prevent_rerun", Type: "bool", Default: "false", Doc: "Never run completed jobs again. The state records this."},
		{Name: "rerun_on_input_bytes", Type: "bool", Default: "false", Doc: "Run a job again if the bytes of an input changed although the result hash of its producer did not."},
	},
}
