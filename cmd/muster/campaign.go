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

// A workspace is where one command works: a directory, the campaign in it, and the
// providers and the state of that.
type workspace struct {
	*terminal
	*allowances
	dir    string     // absolute directory of the campaign
	pin    launch.Pin // how strict .muster.lock.hcl is; init records
	person *human     // at the terminal; nil until providers may ask
	ctx    context.Context
}

// loadOptions are where the campaign is and what its variables are given,
// without the backends' schemas.
func (ws *workspace) loadOptions(v varFlags, unknown bool) lang.LoadOptions {
	given := slices.Clone(v.given)
	for i := range given {
		if given[i].File != "" {
			given[i].File = absolute(given[i].File)
		}
	}
	return lang.LoadOptions{Dir: ws.dir, CommandLine: given, Environ: os.Environ(), AllowUnknownVars: unknown, Version: version}
}

// load reads the campaign of the working directory. With unknown, variables may
// lack a value, and no process is started.
func (ws *workspace) load(v varFlags, unknown bool) (*lang.Campaign, diag.List) {
	return ws.loadText(v, unknown, nil)
}

// loadText is load of the given files, by name; nil are those of the directory.
func (ws *workspace) loadText(v varFlags, unknown bool, files map[string][]byte) (*lang.Campaign, diag.List) {
	o := ws.loadOptions(v, unknown)
	set := ws.plugins()
	set.Still = unknown
	schemas, absent := set.Schemas()
	o.Schemas = schemas
	read, ok := unlessInterrupted(ws.ctx, func() (r struct {
		c  *lang.Campaign
		ds diag.List
	}) {
		if files != nil {
			r.c, r.ds = lang.LoadFiles(files, o)
		} else {
			r.c, r.ds = lang.Load(o)
		}
		return r
	})
	if !ok {
		ws.unread = true
		return nil, diag.List{{Summary: "Interrupted", Detail: "muster did not finish reading the campaign."}}
	}
	c, diags := read.c, read.ds
	if c != nil {
		ws.sources = diag.HCLSources(c.Files)
	}
	ws.hideSecrets(c)
	diags = plugins.ExplainAbsent(diags, absent)
	if c != nil {
		diags.Append(shareBudgets(c, os.Getenv, ws.guard.LeadsOut)...)
		diags.Append(plugins.Unsuitable(c, schemas, version)...)
	}
	if dir := os.Getenv("MUSTER_SPOOL"); !utf8.ValidString(dir) {
		diags.Errorf("MUSTER_SPOOL is not UTF-8", "It is %q, and the queue of this machine would write to another folder. Set MUSTER_SPOOL to a folder whose name is UTF-8, or unset it.", dir)
	}
	return c, diags
}

// mustLoad is load for commands that cannot go on without a campaign. It
// prints warnings and errors.
func (ws *workspace) mustLoad(v varFlags) (*lang.Campaign, error) {
	c, diags := ws.load(v, false)
	return c, ws.report(diags)
}

// lookLoad is mustLoad for commands that plan nothing: they print no warnings about the campaign,
// and use it as it was last applied while it has errors.
func (ws *workspace) lookLoad(v varFlags) (*lang.Campaign, error) {
	c, diags := ws.load(v, false)
	if !diags.HasErrors() {
		return c, nil
	}
	if last, says := ws.lastApplied(v, diags); last != nil {
		return last, ws.report(says)
	}
	return nil, ws.report(diags)
}

// store opens the campaign's state store, to read it.
func (ws *workspace) store(c *lang.Campaign) (store.Store, error) { return ws.storeTo(c, false) }

// storeTo opens the campaign's state store, to write it or not.
func (ws *workspace) storeTo(c *lang.Campaign, write bool) (store.Store, error) {
	who, _ := whoami()
	s, err := store.Open(c.Store.Type, c.Store.Config, store.Options{Dir: c.Dir, Muster: version, Who: who})
	if err != nil {
		return nil, err
	}
	if err := ws.guard.State(s.Location(), write); err != nil {
		return nil, fmt.Errorf("open the state %s: %w", s.Location(), err)
	}
	return s, nil
}

// session takes the lease. A wait of more than 400 ms is announced.
func (ws *workspace) session(ctx context.Context, s store.Store, purpose string, wait time.Duration) (store.Session, error) {
	ws.tellGone(ctx, s, "Taking over the lock.")
	defer ws.slow("Waiting for the state lock…")()
	return s.Acquire(ctx, purpose, wait)
}

// noteGone tells readers of a muster that went without giving the state's lock
// back.
func (ws *workspace) noteGone(ctx context.Context, s store.Store) {
	ws.tellGone(ctx, s, "The next apply on that machine takes over the lock.")
}

// tellGone says who is gone, and what becomes of the lock. A lock that cannot be
// read is reported by the command that needs it.
func (ws *workspace) tellGone(ctx context.Context, s store.Store, next string) {
	if h, err := s.Holder(ctx); err == nil && h != nil && h.Gone() {
		ws.notef("%s\n", term.Fold(h.Left()+" "+next, ws.err.Width))
	}
}

// plugins are the providers that the campaign can use.
func (ws *workspace) plugins() plugins.Set {
	set := plugins.Set{Dir: ws.dir, Logger: ws.logger, Pin: ws.pin, Person: ws.someone()}
	if ws.guard != nil {
		if set.Gate = ws.guard; ws.guard.Folder() != "" {
			set.Keep = filepath.Join(ws.guard.Folder(), "schemas")
		}
	}
	return set
}

// launcher starts provider processes as they are needed.
func (ws *workspace) launcher() *launch.Launcher { return ws.plugins().Launcher() }
