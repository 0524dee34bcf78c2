package launch

import (
	"context"
	"fmt"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
)

// Pin says how strict the lock file is.
type Pin int

const (
	// PinRequired refuses a program that is not in the lock file, or is
	// another one than is in there. Every command but init.
	PinRequired Pin = iota
	// PinRecord adds new providers to Lock, and refuses, without running it, a program that
	// differs from its entry; init.
	PinRecord
	// PinUpgrade records the programs that it finds in Lock; init -upgrade.
	PinUpgrade
)

// Lock is the lock as read, and with PinRecord or PinUpgrade as it should be written
// (Lock.Write) to LockPath. It must not be changed while providers start.
func (l *Launcher) Lock() (*Lock, error) { return l.lock, l.lockErr }

// Resolve says which program serves a type, without starting it, and checks
// it against the lock file if that is required.
func (l *Launcher) Resolve(typ string) (Program, error) {
	prog, err := l.program.find(typ)
	if err != nil {
		return prog, err
	}
	return prog, l.check(prog)
}

// check compares a program with the lock file before it is run, as strictly
// as is asked for.
func (l *Launcher) check(p Program) error {
	if !p.Pinned || l.opts.Pin == PinUpgrade && l.lockErr == nil {
		return nil
	}
	if l.lockErr != nil {
		return l.lockErr
	}
	l.mu.Lock()
	locked, ok := l.lock.Providers[p.Type]
	want, here := locked.Hashes[Platform()]
	l.mu.Unlock()
	if !here && l.opts.Pin == PinRecord {
		return nil
	}
	if !ok {
		return &providers.Error{
			Class: providers.Invalid, Summary: fmt.Sprintf("Provider %q is not locked", p.Type),
			Detail: fmt.Sprintf("%s is not in %s, so nobody has said that it may be run.", p.Path, l.LockPath()),
			Hint:   "Run: muster init",
		}
	}
	if !here {
		return &providers.Error{
			Class: providers.Invalid, Summary: fmt.Sprintf("Provider %q is not locked for %s", p.Type, Platform()),
			Detail: fmt.Sprintf("%s has version %s for other platforms only.", l.LockPath(), locked.Version),
			Hint:   "Run: muster init",
		}
	}
	got, err := hashFile(p.Path)
	if err != nil {
		return err
	}
	if got != want {
		return &providers.Error{
			Class: providers.Invalid, Summary: fmt.Sprintf("Provider %q is not the program that was locked", p.Type),
			Detail: fmt.Sprintf("%s has %s; %s says %s (version %s).", p.Path, got, l.LockPath(), want, locked.Version),
			Hint:   "If it was replaced on purpose, run: muster init -upgrade",
		}
	}
	return nil
}

// settle compares a provider's handshake with the request to start it, and records its hash if
// asked to.
func (l *Launcher) settle(_ context.Context, p Program, s offer.Schema) error {
	if s.Type != p.Type {
		return &providers.Error{
			Class: providers.Invalid, Summary: fmt.Sprintf("Provider %q says it is %q", p.Type, s.Type),
			Detail: fmt.Sprintf("%s serves another type than its name says.", p.Path),
		}
	}
	if !p.Pinned {
		return nil
	}
	l.mu.Lock()
	locked, ok := l.lock.Providers[p.Type]
	l.mu.Unlock()
	recorded := l.opts.Pin == PinUpgrade || l.opts.Pin == PinRecord && !ok
	if !recorded && locked.Version != s.Version {
		return &providers.Error{
			Class: providers.Invalid, Summary: fmt.Sprintf("Provider %q has version %s, but %s is locked", p.Type, s.Version, locked.Version),
			Detail: fmt.Sprintf("%s and %s do not agree.", p.Path, l.LockPath()), Hint: "Install the locked version, or run: muster init -upgrade",
		}
	}
	if l.opts.Pin == PinRequired {
		return nil
	}
	hash, err := hashFile(p.Path)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lock.Set(p.Type, s.Version, Platform(), hash)
	return nil
}
