package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// An outcome is a campaign's forecast and what came of it.
type outcome struct {
	past, jobs     int
	walltime, cost figure
}

// try runs the history, plans the rest, and applies it.
func (s sample) try(at site, muster, dir string, seed uint64) (outcome, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return outcome{}, err
	}
	if err := s.write(at, dir, seed); err != nil {
		return outcome{}, err
	}
	if s.strangers > 0 {
		leave, err := at.crowd(s.strangers)
		if err != nil {
			return outcome{}, err
		}
		defer leave()
	}
	m := program{muster, dir, at.unit}
	if _, err := m.run(append([]string{"apply", "-auto-approve"}, s.targets()...)...); err != nil {
		return outcome{}, err
	}
	time.Sleep(at.settles)
	before, err := m.spent()
	if err != nil {
		return outcome{}, err
	}
	out, err := m.plan()
	if err != nil {
		return outcome{}, err
	}
	began := time.Now()
	if _, err := m.run("apply", "-auto-approve"); err != nil {
		return outcome{}, err
	}
	after, err := m.spent()
	if err != nil {
		return outcome{}, err
	}
	out.cost.actual = after - before
	if out.walltime.actual, err = m.lasted(began); err != nil {
		return outcome{}, err
	}
	left, err := m.plan()
	if err == nil && left.jobs > 0 {
		err = fmt.Errorf("the apply ended, and %d jobs are left", left.jobs)
	}
	return out, err
}

// targets select the history.
func (s sample) targets() (out []string) {
	for r := range s.past {
		for _, p := range s.phases {
			cells := []string{""}
			for _, axis := range p.sorted() {
				values := []string{"*"}
				if axis == "N" && s.unseen > 0 {
					values = nil
					for _, v := range p.axes[axis] {
						if v < s.unseen {
							values = append(values, fmt.Sprint(v))
						}
					}
				}
				var more []string
				for _, c := range cells {
					for _, v := range values {
						more = append(more, c+axis+"="+v+",")
					}
				}
				cells = more
			}
			for _, c := range cells {
				out = append(out, fmt.Sprintf("-target=phase.%s[\"%sr=%d\"]", p.name, c, r))
			}
		}
	}
	return out
}

// A program is muster in a campaign's directory.
type program struct{ path, dir, unit string }

func (m program) run(args ...string) ([]byte, error) {
	cmd := exec.Command(m.path, args...)
	cmd.Dir = m.dir
	cmd.Env = append(os.Environ(), "CI=true", "MUSTER_TRUST=1", "MUSTER_SPOOL="+filepath.Join(m.dir, ".spool"), "MUSTER_QUEUE_IDLE=200ms")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("muster %s: %w\n%s%s", strings.Join(args, " "), err, out, errs.String())
	}
	return out, nil
}

func (m program) json(into any, args ...string) error {
	out, err := m.run(args...)
	if err != nil {
		return err
	}
	return json.Unmarshal(out, into)
}

// plan is the forecast of the rest.
func (m program) plan() (outcome, error) {
	type amount struct{ Amount string }
	var doc struct {
		Counts struct{ Run, Unchanged int }
		Cost   []struct {
			Unit          string
			Expected, P90 amount
		}
		Walltime struct {
			P50 float64 `json:"p50_seconds"`
			P90 float64 `json:"p90_seconds"`
		}
	}
	if err := m.json(&doc, "plan", "-json"); err != nil {
		return outcome{}, err
	}
	out := outcome{past: doc.Counts.Unchanged, jobs: doc.Counts.Run, walltime: figure{expected: doc.Walltime.P50, p90: doc.Walltime.P90}}
	for _, l := range doc.Cost {
		if l.Unit == m.unit {
			out.cost.expected, _ = strconv.ParseFloat(l.Expected.Amount, 64)
			out.cost.p90, _ = strconv.ParseFloat(l.P90.Amount, 64)
		}
	}
	return out, nil
}

// spent is the sum of the ledger.
func (m program) spent() (float64, error) {
	var doc struct{ Total map[string]string }
	if err := m.json(&doc, "cost", "-json"); err != nil {
		return 0, err
	}
	return strconv.ParseFloat(doc.Total[m.unit], 64)
}

// lasted is the time from the start of the apply to the end of its last job.
func (m program) lasted(began time.Time) (float64, error) {
	var doc struct{ Ended time.Time }
	if err := m.json(&doc, "report", "-json"); err != nil {
		return 0, err
	}
	return doc.Ended.Sub(began).Seconds(), nil
}
