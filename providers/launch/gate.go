package launch

import (
	"github.com/muster-run/muster/providers"
)

// A Gate decides which programs may be started, hosts reached and commands run for a campaign
// before a person has approved any of it. Its errors are of class providers.Withheld.
type Gate interface {
	// Start is asked before an external provider is started: its type, its program's path, and
	// "sha256:…" of that file.
	Start(typ, path, digest string) error
	// Search is asked before a folder of the campaign is searched for programs.
	Search(dir string) error
	// Reach is asked before a backend is configured, and so reached.
	Reach(b providers.Backend) error
	// Checks returns the checks without the setups that may not be run.
	Checks(b providers.Backend, checks []providers.Check) []providers.Check
	// Verify returns the request without the commands that may not be run. It is
	// an error where its files may not be read.
	Verify(b providers.Backend, r providers.VerifyRequest) (providers.VerifyRequest, error)
}

// open is the gate where there is none.
type open struct{}

func (open) Start(string, string, string) error { return nil }
func (open) Search(string) error                { return nil }
func (open) Reach(providers.Backend) error      { return nil }
func (open) Checks(_ providers.Backend, checks []providers.Check) []providers.Check {
	return checks
}
func (open) Verify(_ providers.Backend, r providers.VerifyRequest) (providers.VerifyRequest, error) {
	return r, nil
}

// mayStart asks the gate about a program that is not muster's own.
func (l *Launcher) mayStart(p Program) error {
	if p.Source == "built-in" {
		return nil
	}
	hash, err := hashFile(p.Path)
	if err != nil {
		return err
	}
	return l.opts.Gate.Start(p.Type, p.Path, hash)
}

// Digest is "sha256:…" and the path of the program that serves a type, for programs that are
// not muster's own. It checks the program against the lock file, and does not start it.
func (l *Launcher) Digest(typ string) (path, digest string, err error) {
	prog, err := l.Resolve(typ)
	if err != nil {
		return "", "", err
	}
	digest, err = hashFile(prog.Path)
	return prog.Path, digest, err
}
