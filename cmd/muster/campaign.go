package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/muster-run/muster/cmd/muster/plugins"
	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/lang"
	"github.com/muster-run/muster/providers/launch"
	"github.com/muster-run/muster/state/store"
	"github.com/muster-run/muster/state/store/file"
)

// texts is a flag that may be given several times.
type texts []string

func (t *texts) String() string     { return strings.Join(*t, " ") }
func (t *texts) Set(s string) error { *t = append(*t, s); return nil }

// varFlags are the variables given on the command line, in the order they
// were written: a later one wins.
type varFlags struct{ given []lang.Assignment }

func (v *varFlags) register(fs *flag.FlagSet) {
	fs.Func("var", "set a variable: `NAME=VALUE` (repeatable)", func(s string) error {
		v.given = append(v.given, lang.Assignment{Var: s})
		return nil
	})
	fs.Func("var-file", "read variables from `FILE` (repeatable)", func(s string) error {
		v.given = append(v.given, lang.Assignment{File: s})
		return nil
	})
}

// loadOptions are where the campaign is and what its variables are given,
// without the backends' schemas.
func (a *app) loadOptions(v varFlags, unknown bool) lang.LoadOptions {
	given := slices.Clone(v.given)
	for i := range given {
		if given[i].File != "" {
			given[i].File = a.path(given[i].File)
		}
	}
	return lang.LoadOptions{Dir: a.dir, CommandLine: given, Environ: os.Environ(), AllowUnknownVars: unknown, Version: version}
}

// load reads the campaign of the working directory. With unknown, variables may
// lack a value, and no process is started.
func (a *app) load(v varFlags, unknown bool) (*lang.Campaign, diag.List) {
	o := a.loadOptions(v, unknown)
	set := a.plugins()
	set.Still = unknown
	schemas, absent := set.Schemas()
	o.Schemas = schemas
	read, ok := unlessInterrupted(a.ctx, func() (r struct {
		c  *lang.Campaign
		ds diag.List
	}) {
		r.c, r.ds = lang.Load(o)
		return r
	})
	if !ok {
		a.unread = true
		return nil, diag.List{{Summary: "Interrupted", Detail: "The campaign was not read to its end."}}
	}
	c, diags := read.c, read.ds
	if c != nil {
		a.sources = diag.HCLSources(c.Files)
	}
	a.hideSecrets(c)
	diags = plugins.ExplainAbsent(diags, absent)
	if c != nil {
		diags.Append(plugins.Unsuitable(c, schemas, version)...)
	}
	if dir := os.Getenv("MUSTER_SPOOL"); !utf8.ValidString(dir) {
		diags.Errorf("MUSTER_SPOOL is not UTF-8", "It is %q, and the queue of this machine would write to another folder. Set MUSTER_SPOOL to a folder whose name is UTF-8, or unset it.", dir)
	}
	a.warned = len(diags) > 0
	return c, diags
}

// mustLoad is load for commands that cannot go on without a campaign. It
// prints warnings and errors.
func (a *app) mustLoad(v varFlags) (*lang.Campaign, error) {
	c, diags := a.load(v, false)
	return c, a.report(diags)
}

// lookLoad is mustLoad for commands that look at what was done: warnings are
// for those who change the campaign.
func (a *app) lookLoad(v varFlags) (*lang.Campaign, error) {
	c, diags := a.load(v, false)
	if diags.HasErrors() {
		return nil, a.report(diags)
	}
	return c, nil
}

// store opens the campaign's state store, to read it.
func (a *app) store(c *lang.Campaign) (store.Store, error) { return a.storeTo(c, false) }

// storeTo opens the campaign's state store, to write it or not.
func (a *app) storeTo(c *lang.Campaign, write bool) (store.Store, error) {
	path, err := statePath(c)
	if err != nil {
		return nil, err
	}
	if err := a.guard.State(path, write); err != nil {
		return nil, fmt.Errorf("open the state %s: %w", path, err)
	}
	who, _ := whoami()
	return file.Open(path, file.Options{Muster: version, Who: who})
}

// session takes the lease. A wait of more than 400 ms is announced.
func (a *app) session(ctx context.Context, s store.Store, purpose string, wait time.Duration) (store.Session, error) {
	a.tellGone(ctx, s, "The lock is taken over.")
	defer a.slow("Waiting for the state lock…")()
	return s.Acquire(ctx, purpose, wait)
}

// noteGone tells readers of a muster that went without giving the state's lock
// back.
func (a *app) noteGone(ctx context.Context, s store.Store) {
	a.tellGone(ctx, s, "The next apply on that machine takes the lock over by itself.")
}

// tellGone says who is gone, and what becomes of the lock. What stands in the
// way of reading it is told by whoever needs the lock.
func (a *app) tellGone(ctx context.Context, s store.Store, next string) {
	if h, err := s.Holder(ctx); err == nil && h != nil && h.Gone() {
		a.notef("%s\n", term.Fold(h.Left()+" "+next, a.err.Width))
	}
}

// slowNotice is after how long a wait says what it waits for.
const slowNotice = 400 * time.Millisecond

// slow announces a wait that takes long; call what it returns when it ends.
func (a *app) slow(text string) func() {
	t := time.AfterFunc(slowNotice, func() { a.notef("%s\n", text) })
	return func() { t.Stop() }
}

// waiting says what is waited for, once in this process: a plan asks its
// backends more than once.
func (a *app) waiting(what string) {
	if a.firstWait(what) {
		a.notef("%s…\n", diag.Sentence(what))
	}
}

// firstWait reports whether a wait is news.
func (a *app) firstWait(what string) bool {
	_, told := a.waits.LoadOrStore(what, true)
	return !told
}

// plugins are the providers that the campaign can use.
func (a *app) plugins() plugins.Set {
	set := plugins.Set{Dir: a.dir, Logger: a.logger, Pin: a.pin, Person: a.someone()}
	if a.guard != nil {
		if set.Gate = a.guard; a.guard.Folder() != "" {
			set.Keep = filepath.Join(a.guard.Folder(), "schemas")
		}
	}
	return set
}

// launcher starts provider processes as they are needed.
func (a *app) launcher() *launch.Launcher { return a.plugins().Launcher() }
