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
	what  string // the command
	works func(work string) bool
	after []int // bytes that each host's record had by then
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
	if u.rented != nil || u.troubles != nil || code != 0 || args[0] != "hold" && args[0] != "cancel" {
		return
	}
	p := promise{what: strings.Join(args, " "), works: func(string) bool { return true }}
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
				if f := strings.Fields(string(line)); f[0] == "start" && p.works(f[1]) {
					u.t.Errorf("after `%s`, it started: %s", p.what, line)
				}
			}
		}
	}
}

// A ceiling is a budget that some apply has read: it has room for so many launches at once.
type ceiling struct {
	limit int // 0 = none
	after int // bytes that the record had by then
}

// approved keeps the budget that an apply has read, where it is known how many launches it has
// room for.
func (u *randomUser) approved(args []string, code int) {
	if args[0] != "apply" || !slices.Contains(args, "-auto-approve") || code < 0 || code == 1 || code == 5 || u.others != nil || u.hosts != nil || u.rented != nil || u.troubles != nil {
		return
	}
	if slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "-target") || strings.HasPrefix(a, "-refresh") }) {
		return
	}
	if u.ceiling.limit == 0 && u.campaign.limit > 0 && u.read {
		u.ceiling = ceiling{u.campaign.limit, len(u.record(0))}
		u.note("# from here on, %d launches at once", u.campaign.limit)
	}
}

// checkCeiling holds that nothing started beside launches that may use up the budget, and ends
// what is known of it, for the campaign is about to change.
func (u *randomUser) checkCeiling() {
	u.t.Helper()
	if u.ceiling.limit > 0 {
		for line := range bytes.Lines(u.record(0)[u.ceiling.after:]) {
			f := strings.Fields(string(line))
			if n, err := strconv.Atoi(f[len(f)-1]); f[0] == "alive" && err == nil && n > u.ceiling.limit {
				u.t.Errorf("%s launches run at once on a budget for %d: %s", f[2], u.ceiling.limit, line)
			}
		}
	}
	u.ceiling = ceiling{}
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
