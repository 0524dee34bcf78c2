package machine

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/muster-run/muster/internal/lazyregexp"
	"github.com/muster-run/muster/internal/subprocess"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host/attempt"
	"github.com/muster-run/muster/providers/image"
	"github.com/muster-run/muster/providers/room"
)

const (
	// trialTime bounds all trials of setups in one preflight; the planner waits longer for a
	// backend.
	trialTime = 20 * time.Second
	// trialsAtOnce keeps a preflight from loading a machine that is in use.
	trialsAtOnce = 4
)

// A trial is a setup in its surroundings.
type trial struct{ workdir, setup, env string }

func trialOf(workdir string, c providers.Check) trial {
	return trial{workdir, fmt.Sprintf("%q %v", c.Setup, c.Image != ""), fmt.Sprintf("%q", c.SetupEnv())}
}

// A verdict is a sentence about a setup that does not work, and why; empty if
// it does.
type problem struct {
	warning   bool
	what, why string
}

// try tries each distinct setup once, a few at a time, while time remains. By the user's
// declaration, a setup may run at any time.
func (s Site) try(ctx context.Context, checks []providers.Check) map[trial]problem {
	ctx, stop := context.WithTimeout(ctx, trialTime)
	defer stop()
	out := map[trial]problem{}
	var mu sync.Mutex
	var all errgroup.Group
	all.SetLimit(trialsAtOnce)
	for _, c := range checks {
		workdir := s.workdir(c)
		t := trialOf(workdir, c)
		mu.Lock()
		_, begun := out[t]
		if !begun {
			out[t] = problem{}
		}
		mu.Unlock()
		if begun || len(c.Setup) == 0 && c.Image == "" || room.Unwritable(workdir) != "" {
			continue
		}
		all.Go(func() error {
			v := s.setup(ctx, workdir, c)
			mu.Lock()
			defer mu.Unlock()
			out[t] = v
			return nil
		})
	}
	_ = all.Wait() // an error is in the verdict
	return out
}

// setup tries a setup in a shell of its own, and then looks for the programs that run images.
func (s Site) setup(ctx context.Context, workdir string, c providers.Check) problem {
	if ctx.Err() != nil {
		return problem{true, "A setup was not tried", fmt.Sprintf("earlier setups took all of the %v for setups; this one runs when a job starts", trialTime)}
	}
	var script strings.Builder
	for _, line := range c.Setup {
		script.WriteString(line + "\n_muster=$?; [ $_muster -eq 0 ] || exit $_muster\n")
	}
	if c.Image != "" {
		script.WriteString(image.Trial())
	}
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", script.String())
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	for _, v := range append(append([]providers.EnvVar{}, s.Environ...), c.Env...) {
		cmd.Env = append(cmd.Env, v.Name+"="+v.Value)
	}
	cmd.Dir = workdir
	if _, err := os.Stat(workdir); err != nil {
		cmd.Dir = "/"
	}
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	err := subprocess.Run(cmd)
	switch {
	case err == nil:
		return problem{}
	case ctx.Err() != nil:
		return problem{true, "Setup takes long", fmt.Sprintf("muster stopped it after %v; each job waits for it when it starts", trialTime)}
	}
	return problem{false, absent(said.String()), fmt.Sprintf("%v: %s", err, strings.Join(attempt.LastLines(said.Bytes(), 5), " / "))}
}

// environments are the environments that setups activate, with the messages of their tools
// when one is missing.
var environments = []struct {
	what string
	re   *lazyregexp.Regexp
}{
	// conda: EnvironmentNameNotFound, EnvironmentLocationNotFound
	{"A conda environment is not there", lazyregexp.New(`(?i)EnvironmentNameNotFound|EnvironmentLocationNotFound|could not find conda environment|not a conda environment`)},
	{"Conda is not there", lazyregexp.New(`(?i)\b(conda|mamba|micromamba)(\.sh)?['"]?: (command )?(not found|no such file)|can't open \S*conda\.sh`)},
	// dash and bash, of `. DIR/bin/activate`
	{"A virtual environment is not there", lazyregexp.New(`(?i)bin/activate['"]?: (no such file|not found)|can't open \S*bin/activate`)},
	// Lmod and Environment Modules
	{"A module is not there", lazyregexp.New(`(?i)unable to locate a modulefile|module\(s\) (are|is) unknown|the following module\(s\)|modulefile .*not found`)},
	{"Modules are not there", lazyregexp.New(`(?i)\bmodule: (command )?not found`)},
	// docker, podman, apptainer
	{"A container image is not there", lazyregexp.New(`(?i)no such image|unable to find image|image not known|could not open image|manifest unknown|unable to open file .*\.sif|\.sif['"]?: no such file`)},
	{"A container runtime is not there", lazyregexp.New(`(?i)\b(docker|podman|apptainer|singularity): (command )?not found|cannot connect to the docker daemon`)},
}

// absent names the environment that a setup did not find.
func absent(said string) string {
	for _, e := range environments {
		if e.re.MatchString(said) {
			return e.what
		}
	}
	return "Setup does not work"
}
