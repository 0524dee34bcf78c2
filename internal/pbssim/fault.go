package pbssim

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
)

// A Fault is something that goes wrong with a command. The file faults.json in
// the server's folder has a list of them; each command takes the first that it
// meets.
//
//	[{"on": "qsub", "do": "lost", "after": 1}, {"on": "*", "do": "hang", "for": "2s", "times": -1}]
type Fault struct {
	On    string   `json:"on"` // a command, "*" for all
	Do    string   `json:"do"` // one of those below
	After int      `json:"after,omitempty"`
	Times int      `json:"times,omitempty"` // 0 = once, -1 = always
	For   Duration `json:"for,omitempty"`   // the command first waits so long
	Code  int      `json:"code,omitempty"`  // of refuse and failed: the exit code
	Text  string   `json:"text,omitempty"`  // of refuse, failed and noise: the text on stderr
}

// The faults.
const (
	slow   = "slow"   // nothing else goes wrong
	down   = "down"   // the connection is refused, and nothing is done
	drop   = "drop"   // the connection ends, and nothing is done
	lost   = "lost"   // it is done, and the connection ends without an answer
	refuse = "refuse" // nothing is done; Text and Code are the answer
	failed = "failed" // it is done; Text and Code follow the answer
	noise  = "noise"  // it is done; Text is printed before the answer on stderr, as hooks of sites do
	broken = "broken" // it is done; the answer ends in the middle
)

var kinds = []string{slow, down, drop, lost, refuse, failed, noise, broken}

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

// A faultFile keeps the faults that commands will meet.
type faultFile string

func (p faultFile) load() (list []Fault, err error) {
	text, err := os.ReadFile(string(p))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	return list, err
}

func (p faultFile) save(list []Fault) error {
	text, err := json.Marshal(list)
	if err != nil {
		return err
	}
	return os.WriteFile(string(p), text, 0o644)
}

func (p faultFile) add(text string) error {
	var f Fault
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return err
	}
	if !slices.Contains(kinds, f.Do) || f.On != "*" && !slices.Contains(programs, f.On) {
		return fmt.Errorf("no fault %q on %q: there are %s", f.Do, f.On, strings.Join(kinds, ", "))
	}
	list, err := p.load()
	if err != nil {
		return err
	}
	return p.save(append(list, f))
}

func (s *Server) faults() faultFile { return faultFile(s.path("faults.json")) }

// fault takes the fault that a command meets.
func (s *Server) fault(program string) *Fault {
	if program == "pbssim" {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	list, err := s.faults().load()
	if err != nil {
		return &Fault{Do: refuse, Code: 1, Text: "pbssim: faults.json: " + err.Error()}
	}
	for i := range list {
		f := list[i]
		switch {
		case f.On != "*" && f.On != program:
			continue
		case f.After > 0:
			list[i].After--
		case f.Times == 0 || f.Times == 1:
			list = slices.Delete(list, i, i+1)
		case f.Times > 1:
			list[i].Times--
		}
		if err := s.faults().save(list); err != nil {
			return &Fault{Do: refuse, Code: 1, Text: "pbssim: " + err.Error()}
		}
		if f.After == 0 {
			return &f
		}
		return nil
	}
	return nil
}

// done reports whether the command is carried out.
func (f *Fault) done() bool { return f.Do != down && f.Do != drop && f.Do != refuse }

// change changes the answer as the fault asks.
func (f *Fault) change(q request, r *reply) {
	switch f.Do {
	case down:
		*r = refused(q, "Connection refused", "pbs1", 15010)
	case drop, lost:
		r.Lost = true
	case refuse:
		*r = reply{Err: line(f.Text), RC: f.Code}
	case failed:
		r.Err += line(f.Text)
		r.RC = f.Code
	case noise:
		r.Err = line(f.Text) + r.Err
	case broken:
		r.Out = r.Out[:len(r.Out)/2]
	}
}

func line(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}
