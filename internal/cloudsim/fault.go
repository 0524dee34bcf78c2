package cloudsim

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// A Fault is something that goes wrong, as often as it says.
type Fault struct {
	On    string   `json:"on"` // an operation such as "create", a step of the cloud's own, or "*" for every operation
	Do    string   `json:"do"`
	After int      `json:"after,omitempty"` // so many times nothing happens first
	Times int      `json:"times,omitempty"` // 0 = once, -1 = always
	For   Duration `json:"for,omitempty"`   // of lasting faults: by the cloud's clock, of slow and hang in real time
	Code  int      `json:"code,omitempty"`  // of status: 500 to 599
	Label string   `json:"label,omitempty"` // of a step: only for instances whose label begins so
}

// Duration is written as in Go: "90s".
type Duration time.Duration

// UnmarshalText reads "90s".
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	*d = Duration(v)
	return err
}

// MarshalText writes "1m30s".
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// The faults of every operation of every cloud.
const (
	slow     = "slow"      // the answer takes For longer
	hang     = "hang"      // no answer, and nothing is done; the connection is closed after For, an hour without it
	drop     = "drop"      // the connection is closed, and nothing is done
	status   = "status"    // an HTML page with Code (502 without it), and nothing is done
	tooOften = "too_often" // the answer of a rate limit
	lost     = "lost"      // it is done, and the connection is closed without an answer
	failed   = "failed"    // it is done, and the answer is an error 500
)

var general = []string{slow, hang, drop, status, tooOften, lost, failed}

// Faults are those that are still to come.
type Faults struct {
	known map[string][]string
	list  []*Fault
}

// NewFaults knows the operations and steps of a cloud, and the faults of each beside the
// general ones.
func NewFaults(operations []Route, own map[string][]string) *Faults {
	fs := &Faults{known: map[string][]string{"*": general}}
	for _, r := range operations {
		fs.known[r.Op] = general
	}
	for on, do := range own {
		fs.known[on] = slices.Concat(fs.known[on], do)
	}
	return fs
}

// ParseFaults reads a JSON list of faults.
func ParseFaults(text []byte) ([]Fault, error) {
	var list []Fault
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.DisallowUnknownFields()
	return list, d.Decode(&list)
}

// Add takes a fault, if the cloud knows it.
func (fs *Faults) Add(f Fault) error {
	do, ok := fs.known[f.On]
	switch {
	case !ok:
		return fmt.Errorf("no operation or step %q: there are %s", f.On, strings.Join(slices.Sorted(maps.Keys(fs.known)), ", "))
	case !slices.Contains(do, f.Do):
		return fmt.Errorf("%q does not happen on %q: %s do", f.Do, f.On, strings.Join(do, ", "))
	case f.Do == status && f.Code != 0 && (f.Code < 500 || f.Code > 599):
		return fmt.Errorf("code %d: it is a server's, 500 to 599", f.Code)
	case f.Times < -1 || f.After < 0 || f.For < 0:
		return fmt.Errorf("times is at least -1, after and for at least 0")
	}
	if f.Times == 0 {
		f.Times = 1
	}
	fs.list = append(fs.list, &f)
	return nil
}

// Clear forgets all of them.
func (fs *Faults) Clear() { fs.list = nil }

// List are those still to come.
func (fs *Faults) List() []*Fault { return fs.list }

// Take is the fault that a cloud's own step meets now, nil without one. Of the
// kinds that it names, only those are looked for.
func (fs *Faults) Take(on, label string, kinds ...string) *Fault {
	return fs.take(func(f *Fault) bool {
		return f.On == on && slices.Contains(kinds, f.Do) && strings.HasPrefix(label, f.Label)
	})
}

// general is the general fault that an operation meets now.
func (fs *Faults) general(op string) *Fault {
	return fs.take(func(f *Fault) bool { return (f.On == op || f.On == "*") && slices.Contains(general, f.Do) })
}

func (fs *Faults) take(fits func(*Fault) bool) *Fault {
	for i, f := range fs.list {
		if !fits(f) {
			continue
		}
		if f.After > 0 {
			f.After--
			continue
		}
		if f.Times > 0 {
			if f.Times--; f.Times == 0 {
				fs.list = slices.Delete(fs.list, i, i+1)
			}
		}
		return f
	}
	return nil
}
