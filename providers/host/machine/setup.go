package machine

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/host/attempt"
	"github.com/muster-run/muster/providers/image"
)

// setupLimit bounds the trial of a setup.
const setupLimit = 2 * time.Minute

// setup tries the setup in a shell of its own, and looks for what runs images
// after it; it is the user's word that it may run at any time. what is a sentence about what does not work, "" if all
// does.
func (s Site) setup(ctx context.Context, workdir string, c providers.Check) (what, why string) {
	ctx, stop := context.WithTimeout(ctx, setupLimit)
	defer stop()
	var script strings.Builder
	for _, line := range c.Setup {
		script.WriteString(line + "\n_muster=$?; [ $_muster -eq 0 ] || exit $_muster\n")
	}
	if c.Image != "" {
		script.WriteString(image.Trial())
	}
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", script.String())
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	for _, v := range append(append([]providers.EnvVar{}, s.Environ...), c.Env...) {
		cmd.Env = append(cmd.Env, v.Name+"="+v.Value)
	}
	cmd.Dir = workdir
	if _, err := os.Stat(workdir); err != nil {
		cmd.Dir = "/"
	}
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	err := cmd.Run()
	switch {
	case err == nil:
		return "", ""
	case ctx.Err() != nil:
		return "Setup does not end", fmt.Sprintf("not within %v", setupLimit)
	}
	return absent(said.String()), fmt.Sprintf("%v: %s", err, strings.Join(attempt.LastLines(said.Bytes(), 5), " / "))
}

// environments are what a setup makes ready, by what its tools say when that
// is not there.
var environments = []struct {
	what string
	re   *regexp.Regexp
}{
	// conda: EnvironmentNameNotFound, EnvironmentLocationNotFound
	{"A conda environment is not there", regexp.MustCompile(`(?i)EnvironmentNameNotFound|EnvironmentLocationNotFound|could not find conda environment|not a conda environment`)},
	{"Conda is not there", regexp.MustCompile(`(?i)\b(conda|mamba|micromamba)(\.sh)?['"]?: (command )?(not found|no such file)|can't open \S*conda\.sh`)},
	// dash and bash, of `. DIR/bin/activate`
	{"A virtual environment is not there", regexp.MustCompile(`(?i)bin/activate['"]?: (no such file|not found)|can't open \S*bin/activate`)},
	// Lmod and Environment Modules
	{"A module is not there", regexp.MustCompile(`(?i)unable to locate a modulefile|module\(s\) (are|is) unknown|the following module\(s\)|modulefile .*not found`)},
	{"Modules are not there", regexp.MustCompile(`(?i)\bmodule: (command )?not found`)},
	// docker, podman, apptainer
	{"A container image is not there", regexp.MustCompile(`(?i)no such image|unable to find image|image not known|could not open image|manifest unknown|unable to open file .*\.sif|\.sif['"]?: no such file`)},
	{"A container runtime is not there", regexp.MustCompile(`(?i)\b(docker|podman|apptainer|singularity): (command )?not found|cannot connect to the docker daemon`)},
}

// absent names what a setup did not find.
func absent(said string) string {
	for _, e := range environments {
		if e.re.MatchString(said) {
			return e.what
		}
	}
	return "Setup does not work"
}
