package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/muster-run/muster/cmd/muster/command"
	"github.com/muster-run/muster/cmd/muster/page"
	"github.com/muster-run/muster/internal/atomicfile"
	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/lang/aris"
)

func convertCommand(a *app) *command.Command {
	return &command.Command{
		Name: "convert", Args: "FILE|DIR|-", Short: "convert ARIS experiment-queue manifests, grid specs and queue lines to a campaign", MinArgs: 1, MaxArgs: 1,
		Long: `Reads a manifest, a grid spec or a queue_state.json of ARIS's experiment-queue, in YAML or JSON, and prints the equivalent
campaign. It also converts lines of CONFIG TASK [EPOCHS], as in queues of ablations. From a run folder it reads manifest.json and
queue_state.json: import blocks adopt the jobs that the queue completed, once muster has verified their outputs.

It lists everything that it cannot carry over, or reads differently from the queue, with its line, and repeats the list
in the campaign's first comment.

-out writes a file. It never overwrites a campaign that was edited since.`,
		Examples: []command.Example{
			{"muster convert grid_spec.yaml", "print the campaign"},
			{"muster convert -backend=ssh ~/.aris_queue/runs/20261122T180000Z", "a run folder, with its finished jobs"},
			{"muster convert -out=campaign.muster.hcl -backend=ssh manifest.json", "write it, for a host reached over ssh"},
		},
		Setup: func(fs *flag.FlagSet) command.Action {
			out := fs.String("out", "-", "write to `FILE`; - is standard output")
			backend := fs.String("backend", "", "where the jobs go: `ssh` or local (default ssh if the manifest names a host, else local)")
			asJSON := fs.Bool("json", false, "print the campaign and the findings as JSON")
			return func(_ context.Context, args []string) error {
				if *asJSON && *out != "-" {
					return command.Usagef("-json prints the campaign and -out writes it: choose one")
				}
				if !slices.Contains([]string{"", "ssh", "local"}, *backend) {
					return command.Usagef("-backend is ssh or local, not %q", *backend)
				}
				return a.convert(args[0], *out, *backend, *asJSON)
			}
		},
	}
}

func (a *app) convert(from, to, backend string, asJSON bool) error {
	name := filepath.ToSlash(from)
	options := aris.Options{Backend: backend}
	var src []byte
	var err error
	if info, statErr := os.Stat(absolute(from)); from == "-" {
		name = "stdin"
		src, err = io.ReadAll(io.LimitReader(a.stdin, aris.MaxBytes+1))
	} else if statErr == nil && info.IsDir() {
		name, src, options.Manifest, err = runFolder(absolute(from))
	} else {
		src, err = os.ReadFile(absolute(from))
	}
	if err != nil {
		return fmt.Errorf("read the manifest: %w", err)
	}
	campaign, diags := aris.Convert(name, src, options)
	a.sources = func(file string) []byte {
		if file == name {
			return src
		}
		return nil
	}
	if asJSON {
		return a.convertJSON(campaign, diags)
	}
	if err := a.report(diags); err != nil {
		return err
	}
	if to == "-" {
		_, err := a.stdout.Write(campaign)
		return err
	}
	if kept, err := keepCampaign(absolute(to), campaign); err != nil {
		return err
	} else if kept {
		a.printf("Wrote %s. Read its first comment, then:\n\n    muster plan\n", absolute(to))
	} else {
		a.printf("%s holds this campaign already.\n", absolute(to))
	}
	return nil
}

// runFolder reads the folder of a queue's run: its state, which lists finished jobs, with the
// manifest beside it; the manifest alone before the run has begun.
func runFolder(dir string) (name string, src, manifest []byte, err error) {
	manifest, err = os.ReadFile(filepath.Join(dir, "manifest.json"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", nil, nil, err
	}
	src, stateErr := os.ReadFile(filepath.Join(dir, "queue_state.json"))
	switch {
	case stateErr == nil:
		return "queue_state.json", src, manifest, nil
	case errors.Is(stateErr, fs.ErrNotExist) && err == nil:
		return "manifest.json", manifest, nil, nil
	}
	return "", nil, nil, stateErr
}

// keepCampaign writes a new file. It leaves one alone that has this content, and refuses another.
func keepCampaign(path string, content []byte) (kept bool, err error) {
	old, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return false, fmt.Errorf("read %s: %w", path, err)
	case bytes.Equal(old, content):
		return false, nil
	default:
		return false, command.Usagef("%s exists with other content; name another file with -out, or remove it first", path)
	}
	err = atomicfile.Output(path, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("write %s: %w", path, err)
	}
	return true, nil
}

func (a *app) convertJSON(campaign []byte, diags diag.List) error {
	err := a.encode(map[string]any{"format_version": page.FormatVersion, "valid": !diags.HasErrors(), "campaign": string(campaign), "diagnostics": diag.ToJSON(diags, a.sources)})
	if err == nil && diags.HasErrors() {
		err = command.Failed
	}
	return err
}
