package schema

// Language is the top level of a campaign's files.
var Language = &Block{
	Name: "campaign file",
	Blocks: []*Block{
		campaign, variable, locals, Backend, source, grid, phase,
		budget, failure, known, policy, result, moved, Import,
	},
}

var campaign = &Block{
	Name: "campaign", Labels: []string{"name"}, Single: true,
	Doc: "The campaign's name, the place of its state, and its notifications.",
	Attrs: []Attr{
		{Name: "description", Type: "string", Doc: "What the campaign is for, shown by `plan -markdown` and `report`."},
		{Name: "required_version", Type: "version constraint", Doc: "Versions of muster that may run it, such as `\">= 0.1\"`."},
		{Name: "required_providers", Type: "map(version constraint)", Default: "{}", Doc: "External providers and their versions. May also be written as a block."},
		{Name: "max_parallel", Type: "number", Default: "no limit", Doc: "Most jobs queued or running at once, over all phases and backends. If a phase has a `max_parallel` that the queue itself enforces (a Slurm array, a host's queue), at most that many of its jobs count."},
		{Name: "max_cells", Type: "number", Default: "10000000", Doc: "Most cells that a grid may have. A larger grid is an error."},
	},
	Blocks: []*Block{
		{Name: "state", Labels: []string{"type"}, Single: true, Open: true, Doc: "Where muster keeps the state. Without it: a file beside the campaign."},
		{Name: "notify", Labels: []string{"type"}, Open: true, Doc: "Reserved for notifications. This version reads the block, warns, and sends nothing."},
		{Name: "required_providers", Single: true, Open: true, Doc: "The attribute of the same name, written as a block."},
	},
}

var variable = &Block{
	Name: "variable", Labels: []string{"name"},
	Doc: "A value set from outside: `-var`, `-var-file`, `*.auto.mustervars.hcl` or `MUSTER_VAR_name`.",
	Attrs: []Attr{
		{Name: "type", Type: "type", Default: "any", Doc: "Required type, such as `string`, `number`, `list(string)`, `object({ n = number })`."},
		{Name: "default", Type: "any", Doc: "Value if none is set. Without a default, you must set a value."},
		{Name: "description", Type: "string", Doc: "What it is for."},
		{Name: "sensitive", Type: "bool", Default: "false", Doc: "State, plans and hashes contain the variable's name, never its value."},
	},
	Blocks: []*Block{{
		Name: "validation", Doc: "A condition that the value must meet.",
		Attrs: []Attr{
			{Name: "condition", Type: "bool", Required: true, Doc: "Must be true; may use `var` and `local`."},
			{Name: "error_message", Type: "string", Required: true, Doc: "Message if the condition is false."},
		},
	}},
}

var locals = &Block{
	Name: "locals", Open: true,
	Doc: "Named expressions, read as `local.NAME`. They may use variables and one another.",
}

// Backend is the block of that name.
var Backend = &Block{
	Name: "backend", Labels: []string{"type", "name"}, Open: true,
	Doc: "A place to run jobs, configured once. The block also takes the attributes and blocks of its type, such as `ssh` or `slurm`.",
	Attrs: []Attr{
		{Name: "profile", Type: "string", Doc: "The site's facts: the name of a profile that comes with the provider, or the path of your own `.hcl` file, relative to the campaign's folder."},
		{Name: "workdir", Type: "string", Default: "the campaign's directory for local", Doc: "Folder for outputs: an absolute path, or one that begins with `~/`."},
		{Name: "setup", Type: "string", Doc: "Shell lines before each job's command, such as `module load cuda`."},
		{Name: "env", Type: "map(string)", Default: "{}", Doc: "Environment variables of every job on this backend."},
		{Name: "max_parallel", Type: "number", Default: "no limit", Doc: "Most jobs queued or running on this backend at once. If a phase has a `max_parallel` that the queue itself enforces (a Slurm array), at most that many of its jobs count."},
		{Name: "price", Type: "object", Doc: "Price of the backend: `usd_per_gpu_hour`, `usd_per_cpu_hour`, `usd_per_hour`, `service_units_per_gpu_hour`, `service_units_per_node_hour`, `service_units_per_cpu_hour`, `usd_per_gb_month` (of the `disk` that a job asks for), `usd_per_gb_out` (of files that leave it for another backend) (decimals), `granularity` (billed time is a multiple of it), `minimum` (shortest billed time of a launch) (durations), `bills_while_queued` (bool: the wait in the queue is billed, too. Plan and ceiling count the quoted wait, the ledger the real one. While a job waits longer than quoted, muster reserves the growing cost; if a budget or the ceiling does not cover it, muster takes the job back from the queue. Without a quoted wait the cost is unknown). In another currency: `currency`, `usd_per_unit` (value of one unit of it in USD), `per_gpu_hour`, `per_cpu_hour`, `per_hour`, `per_gb_month`, `per_gb_out`."},
		{Name: "hold", Type: "duration", Doc: "Required for rentals: how long muster keeps a machine after its last job."},
		{Name: "on_hold", Type: "string", Doc: "Required for rentals: what muster then does with the machine: `release`, `keep`, or, where the cloud can stop machines, `stop`, which keeps the disk and its bill."},
		{Name: "verified", Type: "string", Doc: "Month in which you last compared the prices and clocks of this block with the platform, such as `\"2026-05\"`. Plans warn when it is older than `stale_after`."},
	},
	Blocks: []*Block{{
		Name: "clock", Labels: []string{"what"}, Doc: "A date, or a time without use, after which the platform deletes, bills or closes something.",
		Attrs: []Attr{
			{Name: "after", Type: "duration", Doc: "Since the last use; of a [rented](rented.md) machine, since it was stopped."},
			{Name: "at", Type: "time", Doc: "A day, `\"2026-11-28\"` (UTC), or a time, RFC 3339."},
		},
	}, {
		Name: "rented", Labels: []string{"name"}, Doc: "A machine that somebody rented there by hand. Every plan and `cost` show its bill and its deadlines.",
		Attrs: []Attr{
			{Name: "status", Type: "string", Default: "\"stopped\"", Doc: "`stopped` or `running`."},
			{Name: "since", Type: "time", Doc: "Begin of this status: a day, `\"2026-11-09\"` (UTC), or a time, RFC 3339."},
			{Name: "disk", Type: "size", Doc: "Size of its disk, if the platform bills it."},
			{Name: "price", Type: "object", Default: "not known", Doc: "Its price, in the same form as the backend's `price`: `usd_per_hour`, `usd_per_gb_month` (of `disk`), or in another currency."},
		},
	}},
}

var sourceAttrs = []Attr{
	{Name: "dir", Type: "string", Default: "\".\"", Doc: "The folder, relative to the campaign's directory. A phase has the campaign's by default."},
	{Name: "include", Type: "list(string)", Default: "[\"**\"]", Doc: "Patterns of the files to ship; `**` matches any number of folders."},
	{Name: "exclude", Type: "list(string)", Default: "[]", Doc: "Patterns of files to leave out."},
}

var source = &Block{
	Name: "source", Single: true, Attrs: sourceAttrs,
	Doc: "The code of a job: files that muster ships to the backend, and whose content is part of the result hash. A phase's source narrows the campaign's.",
}

// axisHint helps who writes an axis as an attribute of the grid itself.
const axisHint = "An axis is axes = { NAME = [ … ] }."

var gridAttrs = []Attr{
	{Name: "axes", Type: "map(list)", Doc: "The axes and their values: strings, numbers, bools, or objects with a `key` attribute."},
	{Name: "where", Type: "bool", Doc: "Condition that keeps a cell if true; reads `cell.AXIS`."},
	{Name: "include", Type: "list(object)", Default: "[]", Doc: "Further cells, each with a value for every axis."},
	{Name: "repeat", Type: "list(string)", Default: "[]", Doc: "Axes that only repeat a measurement, such as seeds. No expression needs to read them."},
	{Name: "sample", Type: "object", Doc: "`{ count = 100, seed = 7 }` keeps 100 cells, chosen by a hash of seed and key."},
}

var grid = &Block{
	Name: "grid", Labels: []string{"name"}, Attrs: gridAttrs, Hint: axisHint,
	Doc: "Named axes of values; a phase has one job for each point of their product.",
}

var budget = &Block{
	Name: "budget", Labels: []string{"name"}, Doc: "Limits on spending.",
	Attrs: []Attr{
		{Name: "limits", Type: "map(number)", Default: "{}", Doc: "Limit for each unit: `usd`, `gpu_hours`, `cpu_hours`, `node_hours`, `service_units`."},
		{Name: "deadline", Type: "time", Doc: "RFC 3339, such as `\"2026-12-15T00:00:00Z\"`; a p90 end after it breaks the budget."},
		{Name: "warn_at", Type: "number", Default: "0.8", Doc: "Share of a limit, 0 to 1, from which muster warns."},
		{Name: "applies_to", Type: "list(address)", Default: "everything", Doc: "Phases and backends whose jobs count: `[phase.students, backend.slurm.alpine]`."},
		{Name: "strict", Type: "bool", Default: "false", Doc: "A plan already fails when *at most* exceeds a limit."},
	},
}

var failure = &Block{
	Name: "failure", Labels: []string{"name"}, Doc: "An entry of the campaign's own failure catalogue.",
	Attrs: []Attr{
		{Name: "match", Type: "regular expression", Doc: "RE2 pattern on the last lines of the log."},
		{Name: "exit_codes", Type: "list(number)", Default: "[]", Doc: "Exit codes that mean this failure."},
		{Name: "class", Type: "string", Default: "the block's name", Doc: "Failure class, which `retry.on` may name."},
		{Name: "action", Type: "string", Default: "by `retry.on`", Doc: "`retry`, `hold` or `fail`."},
		{Name: "cause", Type: "string", Doc: "Why it happens, shown with the failure."},
		{Name: "hint", Type: "string", Doc: "What to do about it, shown with the failure."},
		{Name: "seen", Type: "string", Doc: "The day on which it was last seen, such as `\"2026-11-23\"`; for people who keep the catalogue."},
	},
}

var known = &Block{
	Name: "known", Labels: []string{"name"}, Doc: "A description of jobs that went wrong before. Every plan compares the jobs that it starts with it.",
	Attrs: []Attr{
		{Name: "when", Type: "bool", Required: true, Doc: "Condition that is true for such jobs. Reads `cell`, `param`, `phase`, `backend` (such as `\"slurm.alpine\"`), `pool`, `command`, `image`, and `shape` as a [`rule`](rule.md) does."},
		{Name: "risk", Type: "string", Required: true, Doc: "`low`, `medium`, `high` or `critical`."},
		{Name: "mitigation", Type: "string", Required: true, Doc: "What to do about it, shown with the pattern."},
		{Name: "seen", Type: "string", Doc: "When and where it happened, such as `\"2026-11-23, aa100\"`."},
	},
}

var policy = &Block{
	Name: "policy", Single: true, Doc: "The placement table, and the limits above which a plan needs more than one approval.",
	Attrs: []Attr{
		{Name: "urgent_within", Type: "duration", Default: "24h", Doc: "Work is urgent when its p90 end is less than this before the deadline."},
		{Name: "long_wait", Type: "duration", Default: "4h", Doc: "A quoted wait is long when it exceeds this, or the job's walltime."},
		{Name: "price_tolerance", Type: "number", Default: "0.10", Doc: "How far a quote may rise between plan and apply, as a share."},
		{Name: "stale_after", Type: "duration", Default: "180d", Doc: "Facts about money or deletion older than this are a warning."},
		{Name: "approve_above", Type: "map(number)", Default: "{}", Doc: "Amounts, by unit, above which `apply` needs a saved plan, whatever its flags."},
		{Name: "allow", Type: "list(backend)", Default: "all", Doc: "Only these backends may be used."},
		{Name: "deny", Type: "list(backend)", Default: "[]", Doc: "These backends may not be used."},
		{Name: "require_approvals", Type: "number", Default: "1", Doc: "Number of people who must approve a plan: one that `when` describes, or, without `when`, every plan. See [a second look](../../guide/approve.md#a-second-look)."},
		{Name: "max_cancel", Type: "number", Default: "no limit", Doc: "Most cancellations that a plan may contain without confirmation."},
		{Name: "min_seeds", Type: "number", Default: "1", Doc: "`validate` and the plan warn of a phase with fewer jobs of one setting that differ only in `seed`, or in the axes that its grid names in `repeat`."},
	},
	Blocks: []*Block{{
		Name: "when", Single: true, Doc: "Conditions under which a plan needs more than one approval.",
		Attrs: []Attr{
			{Name: "walltime_above", Type: "duration", Doc: "A job that starts may run longer than this."},
			{Name: "money_above", Type: "number", Doc: "The plan may cost more US dollars than this at most."},
			{Name: "first_of_kind", Type: "bool", Default: "false", Doc: "A phase starts jobs, and none of its jobs has ever completed; nor has work like it in another campaign of the workspace, by `muster precedent`."},
		},
	}, {
		Name: "rule", Doc: "A row of the placement table; the first whose condition holds decides, before the default table.",
		Attrs: []Attr{
			{Name: "when", Type: "bool", Required: true, Doc: "Reads `shape.gpus`, `shape.cpus`, `shape.nodes`, `shape.memory`, `shape.disk`, `shape.gpu_memory` (bytes), `shape.walltime` (seconds), `jobs`, `urgent`, `long`, `smoke`, `phase`."},
			{Name: "use", Type: "string or backend", Required: true, Doc: "`local`, `cheapest_soonest`, `cheapest`, `soonest`, `order`, `rental_if_urgent_or_long`, `production`, or a backend."},
		},
	}},
}

var result = &Block{
	Name: "result", Labels: []string{"name"}, Doc: "A value computed from metrics and outputs, known when the jobs it reads are done.",
	Attrs: []Attr{
		{Name: "value", Type: "any", Required: true, Doc: "Reads `phase.NAME.metric.M` and `phase.NAME.output.O`: maps from key to value, or bare values without a grid."},
		{Name: "description", Type: "string", Doc: "What it means."},
	},
}

var moved = &Block{
	Name: "moved", Doc: "Gives a phase or job a new address without running it again.",
	Attrs: []Attr{
		{Name: "from", Type: "address", Required: true, Doc: "The old address: `phase.NAME` or `phase.NAME[\"key\"]`."},
		{Name: "to", Type: "address", Required: true, Doc: "The new address, which the campaign has."},
	},
}

// Import is the block of that name.
var Import = &Block{
	Name: "import", Doc: "Adopts work that muster did not start: without `id`, files at the output paths of jobs; with `id`, a running or finished job of a backend. muster adopts the files of a job if every declared output exists and passes its `verify`, and records that it did not run the job. A block with nothing to adopt does nothing.",
	Attrs: []Attr{
		{Name: "to", Type: "address", Required: true, Doc: "The job: `phase.NAME` or `phase.NAME[\"key\"]`. For files it may be a whole phase: every job whose files exist."},
		{Name: "backend", Type: "backend", Default: "where the jobs may run", Doc: "Where the files are, or where the job runs or ran. Required with `id`."},
		{Name: "id", Type: "string", Doc: "The backend's own id of a job."},
	},
}
