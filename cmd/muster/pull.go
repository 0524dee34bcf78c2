package main

import (
	"context"
	"errors"
	"flag"
	"fmt"

	"github.com/muster-run/muster/cmd/muster/command"
	"github.com/muster-run/muster/cmd/muster/page"
	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/planner/apply/haul"
	"github.com/muster-run/muster/planner/apply/site"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/state"
)

func pullCommand(a *app) *command.Command {
	return &command.Command{
		Name: "pull", Args: "[ADDR…]", Short: "copy outputs here and verify their digests", MaxArgs: -1,
		Long: `Copies the outputs of completed jobs into -to, resuming what a broken transfer left, and compares every digest with what
was recorded when the job ended. What is there already and right is not copied again.`,
		Examples: []command.Example{{"muster pull -to=results", "everything"}, {"muster pull -to=results phase.figure", "only the figure"}},
		Setup: func(fs *flag.FlagSet) command.Run {
			var v varFlags
			v.register(fs)
			to := fs.String("to", "outputs", "`DIR` to copy into; the paths below the workdir are kept")
			asJSON := fs.Bool("json", false, "print as JSON")
			return func(ctx context.Context, args []string) error {
				return a.pull(ctx, v, a.path(*to), *asJSON, args)
			}
		},
		Complete: a.jobAddresses,
	}
}

// A pullReport is the JSON of `muster pull -json`.
type pullReport struct {
	FormatVersion string       `json:"format_version"`
	To            string       `json:"to"`
	Files         []pulledFile `json:"files"`
	Failed        []unpulled   `json:"failed"`
}

type pulledFile struct {
	Address string `json:"address"`
	Output  string `json:"output"`
	Path    string `json:"path"` // as the job wrote it
	File    string `json:"file"` // here
	Size    int64  `json:"size"`
	Digest  string `json:"digest,omitempty"` // that was compared; "" where only the output as a whole has one
	Kept    bool   `json:"kept"`             // was here already
}

type unpulled struct {
	Address string `json:"address"`
	Output  string `json:"output"`
	Error   string `json:"error"`
}

func (a *app) pull(ctx context.Context, v varFlags, to string, asJSON bool, args []string) error {
	c, st, err := a.open(ctx, v)
	if err != nil {
		return err
	}
	s, err := a.choose(c, st, args)
	if err != nil {
		return err
	}
	w := &work{launcher: a.launcher()}
	defer w.close()
	connect, err := a.connect(ctx, w, c, st)
	if err != nil {
		return err
	}
	from := origins(connect, c, st)
	r := pullReport{FormatVersion: page.FormatVersion, To: to, Files: []pulledFile{}, Failed: []unpulled{}}
	for _, address := range s.List(c) {
		j := st.Job(address)
		if j == nil || j.Status != state.Completed {
			continue
		}
		for _, o := range j.Outputs {
			files, err := pullOutput(ctx, from, j, o, to)
			for _, f := range files {
				f.Address, f.Output = address, o.Name
				r.Files = append(r.Files, f)
			}
			if err != nil {
				r.Failed = append(r.Failed, unpulled{address, o.Name, err.Error()})
			}
		}
	}
	return a.printPulled(r, asJSON)
}

func (a *app) printPulled(r pullReport, asJSON bool) error {
	if asJSON {
		if err := a.encode(r); err != nil {
			return err
		}
	} else {
		var bytes int64
		for _, f := range r.Files {
			bytes += f.Size
		}
		text := fmt.Sprintf("%s, %s, in %s: every digest is as recorded", units.Count(len(r.Files), "file"), units.FormatSize(bytes), r.To)
		switch n := len(r.Failed); {
		case n == 1:
			text += "; 1 output was not copied"
		case n > 1:
			text += fmt.Sprintf("; %d outputs were not copied", n)
		}
		a.printf("%s.\n", text)
	}
	var l diag.List
	for _, f := range r.Failed {
		l.Append(diag.Diagnostic{Summary: "An output was not copied", Detail: fmt.Sprintf("%s, output %q: %s.", f.Address, f.Output, f.Error)})
	}
	return a.report(l)
}

// pullOutput copies the files of one output.
func pullOutput(ctx context.Context, from origin, j *state.Job, o state.Output, to string) (files []pulledFile, err error) {
	end, err := from(ctx, j, o)
	if err != nil {
		return nil, err
	}
	fetched, err := haul.Fetch(ctx, end, o, to)
	var gone *providers.Error
	if errors.As(err, &gone) && gone.Class == providers.NotFound {
		err = fmt.Errorf("%s is not on backend.%s any more", term.CleanLine(o.Path), o.Backend)
	}
	for _, f := range fetched {
		files = append(files, pulledFile{Path: f.Path, File: f.File, Size: f.Size, Digest: f.Digest, Kept: f.Kept})
	}
	return files, err
}

// An origin is where an output is read from.
type origin func(ctx context.Context, j *state.Job, o state.Output) (haul.End, error)

// origins finds where outputs lie, and asks each backend once what it has.
func origins(connect connector, c *lang.Campaign, st *state.State) origin {
	pools := map[string][]offer.Pool{}
	return func(ctx context.Context, j *state.Job, o state.Output) (haul.End, error) {
		p, err := connect(o.Backend)
		if err != nil {
			return haul.End{}, err
		}
		conf, err := backendOf(c, st, o.Backend)
		if err != nil {
			return haul.End{}, err
		}
		if _, known := pools[o.Backend]; !known {
			if pools[o.Backend], err = p.Pools(ctx, o.Backend); err != nil {
				return haul.End{}, err
			}
		}
		pool := ""
		if a := j.Last(); a != nil && a.Backend == o.Backend {
			pool = a.Pool
		}
		spot := site.SpotOf(conf, pools[o.Backend], pool)
		workdir := site.AtHome(o.Workdir, pools[o.Backend], pool)
		if workdir == "" {
			workdir = spot.Workdir
		}
		return haul.End{Files: p, Backend: spot.Name(), Workdir: workdir}, nil
	}
}
