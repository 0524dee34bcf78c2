package systemtest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A promise is a hold or a cancel that a command confirmed: none of its works starts until
// somebody lifts it.
type promise struct {
	what   string // the command
	works  func(work string) bool
	smokes bool  // nor do smokes of them: it names no single job
	after  []int // bytes that each host's record had by then
}

// selected matches an address: a phase, and its cell.
var selected = regexp.MustCompile(`^phase\.(\w+)(?:\["\w+=(\d+)"\])?$`)

// works returns which works an address selects, nil for one that no phase has.
func (u *randomUser) works(address string) func(string) bool {
	m := selected.FindStringSubmatch(address)
	for _, p := range u.campaign.phases {
		switch {
		case m == nil || p.name != m[1]:
		case m[2] == "":
			return func(work string) bool { return strings.HasPrefix(work, p.work) }
		default:
			return func(work string) bool { return work == p.work+m[2] }
		}
	}
	return nil
}

// promised keeps what a command confirmed. What it found about to start may still say so.
func (u *randomUser) promised(args []string, code int) {
	if u.rented != nil || code != 0 || args[0] != "hold" && args[0] != "cancel" {
		return
	}
	p := promise{what: strings.Join(args, " "), works: func(string) bool { return true }, smokes: !strings.Contains(args[len(args)-1], "[")}
	if len(args) > 1 {
		if p.works = u.works(args[1]); p.works == nil {
			return
		}
	}
	if args[0] == "cancel" { // it knows of the jobs that there are
		all, there := p.works, map[string]bool{}
		for _, ph := range u.campaign.phases {
			for k := range ph.cells {
				there[ph.work+strconv.Itoa(k)] = true
			}
		}
		p.works = func(work string) bool { return all(work) && there[work] }
	}
	time.Sleep(time.Second)
	if u.troubles != nil {
		time.Sleep(5 * time.Second) // a job that the scheduler is starting
	}
	for i := range u.roots {
		p.after = append(p.after, len(u.record(i)))
	}
	u.promises = append(u.promises, p)
}

func (u *randomUser) record(host int) []byte {
	text, _ := os.ReadFile(filepath.Join(u.root(host), "record"))
	return text
}

// lifted checks what was promised until now, and ends the promises that cover a work.
func (u *randomUser) lifted(why string, covers func(work string) bool) {
	u.t.Helper()
	u.checkPromises()
	u.promises = slices.DeleteFunc(u.promises, func(p promise) bool {
		for _, ph := range "abcd" {
			for k := range 20 {
				if work := string(ph) + strconv.Itoa(k); covers(work) && p.works(work) {
					u.note("# %s: `%s` counts no more", why, p.what)
					return true
				}
			}
		}
		return false
	})
}

// edited ends the cancels that count no more: a cancelled job starts again once it has changed,
// or what it reads.
func (u *randomUser) edited() {
	u.t.Helper()
	text := u.campaign.text() + fmt.Sprintf("%+v", u.version)
	text = regexp.MustCompile(`(?m)^budget .*$`).ReplaceAllString(text, "")
	if text == u.last {
		return
	}
	u.last = text
	u.checkPromises()
	u.promises = slices.DeleteFunc(u.promises, func(p promise) bool { return strings.HasPrefix(p.what, "cancel") })
}

// checkPromises holds that nothing started that somebody held or cancelled.
func (u *randomUser) checkPromises() {
	u.t.Helper()
	for _, p := range u.promises {
		for i, after := range p.after {
			for line := range bytes.Lines(u.record(i)[after:]) {
				if f := strings.Fields(string(line)); f[0] == "start" && p.works(f[1]) && (p.smokes || f[3] != "smoke") {
					u.t.Errorf("after `%s`, it started: %s", p.what, line)
				}
			}
		}
	}
}

// lifts ends the promises that a command takes back.
func (u *randomUser) lifts(args []string) {
	u.t.Helper()
	everything := func(string) bool { return true }
	switch args[0] {
	case "resume":
		if len(args) == 1 { // cancelled jobs start again only where they are named
			kept := slices.DeleteFunc(slices.Clone(u.promises), func(p promise) bool { return !strings.HasPrefix(p.what, "cancel") })
			u.lifted("resume", everything)
			u.promises = append(u.promises, kept...)
		}
		for _, a := range args[1:] {
			if works := u.works(a); works != nil {
				u.lifted("resume", works)
			}
		}
	case "destroy", "recover":
		u.lifted(args[0], everything)
	case "state":
		if works := u.works(args[len(args)-1]); works != nil {
			u.lifted("state rm", works)
		}
	default:
		for _, a := range args {
			if to, ok := strings.CutPrefix(a, "-rerun="); ok {
				if works := u.works(to); works != nil {
					u.lifted("-rerun", works)
				}
			}
		}
	}
}
