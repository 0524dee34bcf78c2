package schema

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/muster-run/muster/lang/value"
	"github.com/muster-run/muster/providers/offer"
)

// A Program has the job block's attributes of a job's program, beside its
// command and its variables.
type Program struct {
	Setup string // the job's, without the backend's
	offer.Process
}

// Rendered are the attributes of the job block that are evaluated for each job
// where it runs. The backend gets each as rendered.
var Rendered = []Field[Program]{
	{Attr: Attr{Name: "setup", Hash: InResult, Type: "string", Doc: "Shell lines before the command, after the backend's."},
		At: func(p *Program) any { return &p.Setup }},
	{Attr: Attr{Name: "image", Hash: InResult, Type: "string", Doc: "Container image that the command runs in: a file (`.sif`) or folder from the workdir, or a registry's. Hosts and clusters run it by apptainer or singularity."},
		At: func(p *Program) any { return &p.Image }},
	{Attr: Attr{Name: "launcher", Hash: InResult, Type: "string", Default: "\"none\"", Doc: "Starts the command on all nodes of the job: `mpiexec`, `srun` or `torchrun`. `none` runs it once, on the first node."},
		At: func(p *Program) any { return &p.Launcher }, Check: aLauncher},
	{Attr: Attr{Name: "ranks_per_node", Hash: InResult, Type: "number", Default: "one for each GPU, without GPUs for each core", Doc: "How often the launcher starts the command on each node."},
		At: func(p *Program) any { return &p.RanksPerNode }, Least: 1},
}

// Resources are the attributes of the resources block: a job's request to its
// backend, the same for all jobs with equal values.
var Resources = []Field[offer.Shape]{
	{Attr: Attr{Name: "cpus", Hash: InRequest, Type: "number", Default: "1", Doc: "Total number of cores, over all nodes of the job."},
		At: func(s *offer.Shape) any { return &s.CPUs }, Least: 1, Key: "CPUs"},
	{Attr: Attr{Name: "memory", Hash: InRequest, Type: "size", Doc: "Total memory, over all nodes of the job, such as `\"32GiB\"`."},
		At: func(s *offer.Shape) any { return &s.Memory }, Key: "Memory"},
	{Attr: Attr{Name: "gpus", Hash: InRequest, Type: "number", Default: "0, or 1 with a gpu block", Doc: "Total number of GPUs, over all nodes of the job."},
		At: func(s *offer.Shape) any { return &s.GPUs }, Check: noModel, Key: "GPUs"},
	{Attr: Attr{Name: "disk", Hash: InRequest, Type: "size", Doc: "Disk space that a job needs while it runs. A plan checks that a volume has room for all jobs that run on it at once."},
		At: func(s *offer.Shape) any { return &s.Disk }, Key: "Disk"},
	{Attr: Attr{Name: "nodes", Hash: InRequest, Type: "number", Default: "1", Doc: "Number of nodes. Every node gives the same number of cores and GPUs, and the job is charged for them: 3 GPUs on 2 nodes cost as much as 4."},
		At: func(s *offer.Shape) any { return &s.Nodes }, Least: 1, Key: "Nodes"},
	{Attr: Attr{Name: "min_nodes", Hash: InRequest, Type: "number", Default: "all", Doc: "For programs that run on any number of nodes: least number with which the job starts if its check finds other nodes unfit."},
		At: func(s *offer.Shape) any { return &s.MinNodes }, Least: 1},
	{Attr: Attr{Name: "walltime", Hash: InRequest, Type: "duration", Doc: "Hard time limit of one launch. It also limits what the launch can cost."},
		At: func(s *offer.Shape) any { return &s.Walltime }, Check: someTime, Key: "Walltime"},
}

// GPU are the attributes of the gpu block.
var GPU = []Field[offer.Shape]{
	{Attr: Attr{Name: "models", Hash: InRequest, Type: "list(string)", Default: "any", Doc: "Accepted models, by their usual names: `[\"A100\", \"H100\"]`."},
		At: func(s *offer.Shape) any { return &s.GPU.Models }, Key: "Models"},
	{Attr: Attr{Name: "memory", Hash: InRequest, Type: "size", Doc: "Least memory of one GPU."},
		At: func(s *offer.Shape) any { return &s.GPU.Memory }, Key: "GPUMemory"},
}

// noModel recognises Slurm's form, gpus = "a100:2".
func noModel(v cty.Value) error {
	if text, err := value.Text(v); err == nil && v.Type() == cty.String {
		if model, count, ok := strings.Cut(text, ":"); ok {
			return fmt.Errorf("a number is needed, this is a string: write gpus = %s, and gpu { models = [%q] } for the model", count, strings.ToUpper(model))
		}
	}
	return nil
}

func aLauncher(v cty.Value) error {
	if text, err := value.Text(v); err == nil && !slices.Contains(offer.Launchers, text) {
		return fmt.Errorf("%q is none of %s", text, strings.Join(offer.Launchers, ", "))
	}
	return nil
}

func someTime(v cty.Value) error {
	if d, err := value.Duration(v); err == nil && d <= 0 {
		return errors.New("a walltime must be longer than 0")
	}
	return nil
}

// Job is the block of that name.
var Job = &Block{
	Name: "job", Single: true, Doc: "The template of the phase's jobs.",
	Attrs: append([]Attr{
		{Name: "name", Hash: InNone, Type: "string", Default: "PHASE-KEY", Doc: "A unique label, shown in output and used as the scheduler's job name. It does not affect the result hash."},
		{Name: "command", Hash: InResult, Type: "string or list(string)", Required: true, Doc: "A string, which `/bin/sh` runs unchanged from a file; or a list, which muster executes without a shell."},
		{Name: "env", Hash: InResult, Type: "map(string)", Default: "{}", Doc: "Variables of the job, after the backend's."},
		{Name: "discard", Hash: InNone, Type: "list(string)", Default: "[]", Doc: "Files and folders that nobody needs when the job is done: paths or patterns below the workdir, such as `[\"runs/${cell.key}/tmp\"]`. muster removes them when the job's outputs have passed their checks, and never an output or input of the job."},
	}, Attrs(Rendered)...),
	Blocks: []*Block{
		{Name: "secret", Labels: []string{"name"}, Doc: "A variable that muster reads at submission and keeps out of scripts, state, plans and hashes. Set exactly one of the attributes.",
			Attrs: []Attr{
				{Name: "env", Hash: InNone, Type: "string", Doc: "Read from this variable of muster's environment."},
				{Name: "command", Hash: InNone, Type: "list(string)", Doc: "Read from this command's output. It runs in the campaign's folder."},
				{Name: "file", Hash: InNone, Type: "string", Doc: "Read from this file, relative to the campaign's folder."},
			}},
		{Name: "resources", Single: true, Doc: "A job's requests. Each may read `cell` and `param`.",
			Attrs:  Attrs(Resources),
			Blocks: []*Block{{Name: "gpu", Single: true, Doc: "Requirements of each GPU.", Attrs: Attrs(GPU)}}},
		{Name: "options", Labels: []string{"type"}, Open: true, Doc: "Job options of one type of backend, by its provider's schema. They may read `cell` and `param`."},
		{Name: "input", Labels: []string{"name"}, Doc: "A file that the job reads. Set exactly one of `from`, `from_all` and `path`. The first two read files of another phase's jobs, and the job waits for those jobs. `path` reads files that no phase makes.",
			Attrs: []Attr{
				{Name: "from", Hash: InResult, Type: "output", Doc: "`phase.NAME.output.OUTPUT`: exactly one producer for each cell."},
				{Name: "from_all", Hash: InResult, Type: "output", Doc: "The same, from any number of producers. The value is a list in key order; the files of a `glob` are sorted by name."},
				{Name: "require", Hash: InNone, Type: "string or number", Default: "\"100%\"", Doc: "How many producers of `from_all` must be done: a share such as `\"90%\"`, rounded up, or a number. The job starts when every producer has ended, well or not, and its list has the files of those that are done. MUSTER_INPUT_NAME_MISSING is a file with the keys of the others, one a line. With `\"0%\"` the job starts however they ended, and the list may be empty. A producer has not ended while a person, an open breaker or a budget keeps it from starting. No scheduler starts the job by itself: muster submits it when the producers have ended. When more of them are done later, the job runs again."},
				{Name: "path", Hash: InResult, Type: "string", Doc: "A file that no phase makes, relative to the campaign's folder, or a pattern such as `\"data/*.csv\"`: a list, sorted by name. It may read `cell`. The digest of the file's bytes is part of the result hash. muster copies the file to backends where jobs read it."},
				{Name: "backend", Hash: InNone, Type: "backend", Default: "this machine", Doc: "Where the files of `path` are: `backend.ssh.lab`. A relative path begins at its `workdir`. muster computes the digest there, and jobs on that backend read the files in place. Not one that rents machines."},
				{Name: "match", Hash: InResult, Type: "map(any)", Default: "axes of the same name", Doc: "Axes of the producer and their required values: `{ N = cell.hidden }`."},
			}},
		output,
		{Name: "metric", Labels: []string{"name"}, Doc: "A value that muster reads from a verified output. Set exactly one of `json`, `column`, `regex`.",
			Attrs: []Attr{
				{Name: "output", Hash: InNone, Type: "string", Required: true, Doc: "Name of the output to read."},
				{Name: "json", Hash: InNone, Type: "JSON pointer", Doc: "RFC 6901, such as `\"/final/loss\"`."},
				{Name: "column", Hash: InNone, Type: "string", Doc: "A column of a CSV file; muster reads its last row."},
				{Name: "regex", Hash: InNone, Type: "regular expression", Doc: "RE2; muster reads the first group of the last match."},
				{Name: "required", Hash: InNone, Type: "bool", Default: "true if a `result` or an `expect` reads it", Doc: "If true, a job without this value fails as `bad_output`. If false, muster only reports that it is missing."},
			}},
		watch,
		scratch,
	},
}

var scratch = &Block{
	Name: "scratch", Single: true,
	Doc: "Gives each launch a folder of its own on the disk of its node: `${job.scratch}` in expressions, MUSTER_SCRATCH in the job. muster creates it in the backend's `scratch`, by default in the node's folder for temporary files, and removes it when the launch ends. `${input.NAME}` and `${output.NAME}` of the inputs and outputs listed here are paths in it.",
	Attrs: []Attr{
		{Name: "stage_in", Hash: InRequest, Type: "list(input)", Default: "[]", Doc: "Inputs to copy there before the command starts: `[input.data]`."},
		{Name: "stage_out", Hash: InRequest, Type: "list(output)", Default: "[]", Doc: "Outputs that the command writes there: `[output.model]`. When the command exits 0, muster copies them to their declared paths, compares the copies, and verifies them there. Write checkpoints to the workdir: the scratch folder of a failed launch is removed."},
	},
}

var watch = &Block{
	Name: "watch", Single: true, Doc: "Watches a job while it runs. Changing this block re-runs nothing.",
	Attrs: []Attr{
		{Name: "forbid", Hash: InNone, Type: "list(regular expression)", Default: "[]", Doc: "RE2, on each line that the job prints: a match ends the job, class `forbidden`, even if it then exits 0."},
		{Name: "stalled_after", Hash: InNone, Type: "duration", Default: "never", Doc: "The job is stalled when it has printed nothing and written no checkpoint for this long; at least `\"10s\"`."},
		{Name: "on_stall", Hash: InNone, Type: "string", Default: "\"tell\"", Doc: "What muster does with a job that is stalled or not `ready`: `tell` shows it; `cancel` ends the job, class `stalled`; `retry` ends it and starts it again within `max_attempts` (2 without a retry block)."},
	},
	Blocks: []*Block{
		{Name: "ready", Single: true, Doc: "The first sign that the job began its work. A job that does not give it in time is stalled.",
			Attrs: []Attr{
				{Name: "match", Hash: InNone, Type: "regular expression", Required: true, Doc: "RE2, on each line that the job prints: one match is enough."},
				{Name: "within", Hash: InNone, Type: "duration", Required: true, Doc: "Longest time from the job's start to the match; at least `\"10s\"`."},
			}},
	},
}

var output = &Block{
	Name: "output", Labels: []string{"name"},
	Doc: "A file that the job must write, relative to the workdir. Set exactly one of `path`, `glob`, `dir`.",
	Attrs: []Attr{
		{Name: "path", Hash: InNone, Type: "string", Doc: "One file."},
		{Name: "glob", Hash: InNone, Type: "string", Doc: "All files that match a pattern. As an input, a list."},
		{Name: "dir", Hash: InNone, Type: "string", Doc: "A folder and everything in it."},
		{Name: "min_count", Hash: InNone, Type: "number", Default: "1", Doc: "With `glob`: least number of files; 0 if a job may leave none."},
		{Name: "min_size", Hash: InNone, Type: "size", Default: "0", Doc: "Least size of each file."},
		{Name: "verify", Hash: InNone, Type: "string, object or list", Default: "\"exists\"", Doc: "`exists`, `nonempty`, `json`, `jsonl`, `csv`, `zip`, `gzip`, `safetensors`, `sha256` (the output is a manifest), `{ sha256 = \"SHA256SUMS\" }`, `{ command = \"…\" }`, or several in a list."},
		{Name: "verify_timeout", Hash: InNone, Type: "duration", Default: "the walltime, at least 10m", Doc: "Longest time that its verification may take."},
		{Name: "verify_max_size", Hash: InNone, Type: "size", Default: "2GiB for each second of `verify_timeout`", Doc: "Most bytes that its verification may read and unpack."},
		{Name: "shared", Hash: InNone, Type: "bool", Default: "false", Doc: "Several jobs write this output. muster only checks that it changed, and no job can read it as an input."},
	},
}

// Ignorable are the fields that ignore_changes may name: the attributes of a job
// that determine its result, its params, its source and its inputs.
func Ignorable() (out []string) {
	for _, a := range Job.Attrs {
		if a.Hash == InResult {
			out = append(out, a.Name)
		}
	}
	return append(out, "param", "source", "input")
}

func ignorableDoc() string {
	var out []string
	for _, name := range Ignorable() {
		out = append(out, "`"+name+"`")
		if name == "env" || name == "param" {
			out = append(out, "`"+name+".NAME`")
		}
	}
	return strings.Join(out, ", ")
}
