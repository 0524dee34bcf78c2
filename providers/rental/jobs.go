package rental

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/muster-run/muster/internal/atomicfile"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// A job is one that muster submitted, and its last observation. It is on the disk before its
// submission is acknowledged, and names its machine before the machine hears of it: a token is
// given to one machine only.
type job struct {
	Spec providers.Job `json:"spec"`
	// Secrets wait with it until its machine has them.
	Secrets []providers.EnvVar `json:"secrets,omitempty"`
	Box     string             `json:"box,omitempty"`    // token of its rental; "" = it waits for a machine
	Handed  bool               `json:"handed,omitempty"` // the queue of its machine has it
	Held    bool               `json:"held,omitempty"`
	Seen    offer.Observation  `json:"seen"`
	Seq     int                `json:"seq"`         // of the last change, over all jobs
	At      time.Time          `json:"at,omitzero"` // when it was accepted
	// Most is the dearest hour to be rented for it, as it was quoted; zero = the backend's limit.
	Most decimal.Decimal `json:"most_usd_per_hour,omitzero"`
	// Safe says that its outputs are here, and were verified here.
	Safe bool `json:"safe,omitempty"`

	heard   bool // its machine spoke of it in this process
	current bool // and all that it said is recorded here
}

// ended reports whether nothing more happens to a job.
func (j *job) ended() bool { return ended(j.Seen.Status) }

func ended(s offer.Status) bool {
	return s == offer.Completed || s == offer.Failed || s == offer.Cancelled || s == offer.Lost
}

// jobs are those of one backend, one file each.
type jobs struct {
	dir string
	all map[string]*job
	seq int
}

// readJobs reads the records of a folder; one that is not there has none.
func readJobs(dir string) (*jobs, error) {
	js := &jobs{dir: dir, all: map[string]*job{}}
	files, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, f := range files {
		token, ok := strings.CutSuffix(f.Name(), suffix)
		if !ok {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		j := &job{}
		if err == nil {
			err = json.Unmarshal(text, j)
		}
		if err == nil && j.Spec.Token != token {
			err = fmt.Errorf("it is about %q", j.Spec.Token)
		}
		if err != nil {
			return nil, fmt.Errorf("job %s: %w", f.Name(), err)
		}
		js.all[token] = j
		js.seq = max(js.seq, j.Seq)
	}
	return js, nil
}

// put writes a job's record, as its latest change.
func (js *jobs) put(j *job) error {
	js.seq++
	j.Seq = js.seq
	text, err := json.Marshal(j)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(js.dir, 0o700); err != nil {
		return err
	}
	if err := atomicfile.Write(filepath.Join(js.dir, j.Spec.Token+suffix), text, 0o600); err != nil {
		return fmt.Errorf("record job %s: %w", j.Spec.Address, err)
	}
	js.all[j.Spec.Token] = j
	return nil
}

// sorted are the jobs by their last change.
func (js *jobs) sorted() []*job {
	out := make([]*job, 0, len(js.all))
	for _, j := range js.all {
		out = append(out, j)
	}
	slices.SortFunc(out, func(a, b *job) int { return a.Seq - b.Seq })
	return out
}

// on are the unfinished jobs of a machine.
func (js *jobs) on(box string) (out []*job) {
	for _, j := range js.sorted() {
		if j.Box == box && !j.ended() {
			out = append(out, j)
		}
	}
	return out
}
