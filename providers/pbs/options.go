package pbs

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/lazyregexp"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/scheduler"
	"github.com/muster-run/muster/providers/offer"
)

// schema says what `backend "pbs"` and `options "pbs"` may hold, but for how the
// login node is reached.
func schema() offer.Schema {
	return offer.Schema{
		Type:    "pbs",
		Version: "1",
		Config:  backendBlock(),
		Options: options(),
		Can: offer.Capabilities{
			Arrays: true, Dependencies: true, Requeues: true, GPUs: true, Transfer: true, Accounting: true, Remote: true, Holds: true, Guard: true, Recalls: true,
		},
		Profiles: profiles.Sources(),
	}
}

func backendBlock() offer.Block {
	return offer.Block{
		Attrs: append([]offer.Attr{
			{Name: "account", Type: offer.String, Doc: "Project that is charged (qsub -A); the user's default if not stated. Some sites require it."},
			{Name: "queues", Type: offer.StringList, Doc: "Queues to use, in order of preference; by default all of the profile or the site."},
			{Name: "exclude_queues", Type: offer.StringList, Doc: "Queues not to use."},
			{Name: "filesystems", Type: offer.String, Doc: "Filesystems that jobs need, \"home:eagle\" (qsub -l filesystems); sites that ask for them start no job while one is away."},
			{Name: "place", Type: offer.String, Doc: "Placement of jobs whose options name none (qsub -l place), \"scatter\" or \"pack:excl\"; by default the profile's."},
		}, scheduler.Attrs("PBS", "qsub", "queue")...),
	}
}

// options are qsub(1B)'s.
func options() offer.Block {
	return offer.Block{Attrs: []offer.Attr{
		{Name: "queue", Type: offer.String, Doc: "The only queue that the job may run in (qsub -q)."},
		scheduler.NodesOption("pbs"),
		{Name: "chunk", Type: offer.String, Doc: "Further resources of every chunk of select, \"cputype=rome:bigmem=true\"."},
		{Name: "place", Type: offer.String, Doc: "Placement (qsub -l place); by default the backend's."},
		{Name: "filesystems", Type: offer.String, Doc: "Filesystems that the job needs, in place of the backend's."},
		{Name: "resources", Type: offer.StringList, Doc: "Further resources of the whole job, \"software=1\", each one element (qsub -l)."},
		{Name: "mail", Type: offer.String, Doc: "Address to which PBS writes when the job ends or is aborted (qsub -M, -m ae)."},
	}}
}

// Options are a job's `options "pbs"`.
type Options struct {
	Queue       string   `json:"queue"`
	Nodes       int      `json:"nodes"`
	Chunk       string   `json:"chunk"`
	Place       string   `json:"place"`
	Filesystems string   `json:"filesystems"`
	Resources   []string `json:"resources"`
	Mail        string   `json:"mail"`
}

// parseOptions reads the options of a job, as JSON; empty text is none.
func parseOptions(text json.RawMessage) (o Options, err error) {
	if len(text) == 0 {
		return o, nil
	}
	var wrong *json.UnmarshalTypeError
	if err = json.Unmarshal(text, &o); errors.As(err, &wrong) {
		return o, fmt.Errorf(`options "pbs": %s is a %s: write a %s`, wrong.Field, wrong.Value, strings.Replace(wrong.Type.String(), "int", "whole number", 1))
	}
	var given struct{ Nodes *int }
	if err == nil && json.Unmarshal(text, &given) == nil && given.Nodes != nil && *given.Nodes < 1 {
		return o, fmt.Errorf(`options "pbs": nodes is %d: write 1 or more, or take it out`, *given.Nodes)
	}
	return o, err
}

// optionsOf are the pbs options within a shape's, which may be theirs alone or by
// type of backend.
func optionsOf(text string) (Options, error) {
	var by map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &by) == nil {
		if own, ok := by["pbs"]; ok {
			return parseOptions(own)
		}
	}
	return parseOptions(json.RawMessage(text))
}

// Forms of values in a script: a directive's line ends nowhere else, and PBS's
// quoting is not needed.
var (
	plainValue    = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9_.:=+,@/-]*$`)
	plainResource = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*=[A-Za-z0-9_.:+,@/-]+$`)
)

// wrong says which option cannot be written into a script.
func (o Options) wrong() error {
	for _, v := range []struct{ name, value string }{{"queue", o.Queue}, {"chunk", o.Chunk}, {"place", o.Place}, {"filesystems", o.Filesystems}, {"mail", o.Mail}} {
		if v.value != "" && !plainValue.MatchString(v.value) {
			return fmt.Errorf(`options "pbs": %s = %q: write letters, digits and _ . : = + , @ / - only`, v.name, v.value)
		}
	}
	for _, r := range o.Resources {
		name, _, _ := strings.Cut(r, "=")
		switch {
		case !plainResource.MatchString(r):
			return fmt.Errorf(`options "pbs": resources has %q: write "name=value"`, r)
		case slices.Contains([]string{"select", "place", "walltime", "nodes", "ncpus", "mem", "ngpus"}, name):
			return fmt.Errorf(`options "pbs": resources has %q, which muster sets itself: use resources of the job, chunk or place`, r)
		}
	}
	return nil
}

// writable refuses a workdir that qsub -o cannot take, since the logs of jobs are under
// it. OpenPBS refuses other letters than ASCII's, ends the path at a space or a quote,
// drops a backslash, and gives % and ^ a meaning of its own.
func writable(workdir string) error {
	for _, c := range workdir {
		if c <= ' ' || c > '~' || strings.ContainsRune(`"'\%^`, c) {
			return providers.Errorf(providers.Invalid, "PBS cannot write the logs of jobs under the workdir %q, which holds %q: set workdir to a path of ASCII letters and digits, without spaces, quotes, \\, %% and ^", workdir, c)
		}
	}
	return nil
}

// Spread is a shape with the number of nodes in the options.
func (o Options) Spread(s offer.Shape) offer.Shape {
	s.Nodes = max(s.Nodes, o.Nodes, 1)
	return s
}
