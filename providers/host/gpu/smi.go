package gpu

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/subprocess"
	"github.com/muster-run/muster/internal/term"
)

const (
	smiName = "nvidia-smi"
	// smiLimit is how long nvidia-smi may take; it needs seconds on machines without
	// persistence mode.
	smiLimit = 20 * time.Second
	mib      = 1 << 20
)

// An SMI reads devices through nvidia-smi, for builds without cgo.
type SMI struct {
	Path  string
	Limit time.Duration // of one call; 0 = 20 s
}

var _ Reader = (*SMI)(nil)

// OpenSMI reads devices through the nvidia-smi at path.
func OpenSMI(path string) *SMI { return &SMI{Path: path} }

// Close has nothing to release.
func (s *SMI) Close() error { return nil }

// Devices asks for devices, slices and processes. Anything but a clean answer
// is an error.
func (s *SMI) Devices(ctx context.Context) ([]Device, error) {
	list, mig, err := s.devices(ctx)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	out, err := s.run(ctx, "--query-compute-apps=gpu_uuid,pid,used_memory", "--format=csv,noheader,nounits")
	if err != nil {
		return nil, err
	}
	if err := parseApps(out, list); err != nil {
		return nil, err
	}
	linux.addOpeners(list)
	if !mig {
		return list, nil
	}
	if out, err = s.run(ctx, "-L"); err != nil {
		return nil, err
	}
	slices := parseSlices(out)
	if out, err = s.run(ctx, "-q", "-x"); err != nil {
		return nil, err
	}
	uses, err := parseReport(out)
	if err != nil {
		return nil, err
	}
	return cut(list, slices, uses), nil
}

const smiFields = "index,uuid,name,memory.total,memory.used,utilization.gpu"

// devices asks for MIG, too, which drivers before 450 do not know.
func (s *SMI) devices(ctx context.Context) (list []Device, mig bool, err error) {
	out, err := s.run(ctx, "--query-gpu="+smiFields+",mig.mode.current", "--format=csv,noheader,nounits")
	if err != nil && strings.Contains(err.Error(), "not a valid field") {
		out, err = s.run(ctx, "--query-gpu="+smiFields, "--format=csv,noheader,nounits")
	}
	switch {
	case errors.Is(err, errNoDevices):
		return nil, false, nil
	case err != nil:
		return nil, false, err
	case len(bytes.TrimSpace(out)) == 0:
		return nil, false, errors.New(smiName + " says nothing about devices")
	}
	return parseDevices(out)
}

var errNoDevices = errors.New("no devices were found")

// run is one call within the limit. nvidia-smi exits 6 when it finds no
// device, which is an answer; nvidia-smi(1), RETURN VALUE.
func (s *SMI) run(ctx context.Context, args ...string) ([]byte, error) {
	limit := s.Limit
	if limit == 0 {
		limit = smiLimit
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, s.Path, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := subprocess.Run(cmd)
	switch said := strings.TrimSpace(stdout.String() + "\n" + stderr.String()); {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, fmt.Errorf("%s does not answer within %s", smiName, limit)
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case strings.Contains(said, "No devices were found"):
		return nil, errNoDevices
	case err != nil:
		line, _, _ := strings.Cut(said, "\n")
		return nil, fmt.Errorf("%s: %w: %s", smiName, err, term.CleanLine(line))
	}
	return stdout.Bytes(), nil
}
