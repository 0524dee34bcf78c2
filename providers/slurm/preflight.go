package slurm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/scheduler"
	"github.com/muster-run/muster/providers/room"
	"github.com/muster-run/muster/providers/slurm/cluster"
)

// Preflight checks that jobs could run: Slurm answers, and the user may use the
// account and the partitions.
func (b *Site) Preflight(ctx context.Context, checks []providers.Check) ([]providers.Finding, error) {
	var out []providers.Finding
	tell := func(check int, summary, format string, args ...any) {
		out = append(out, providers.Finding{Check: check, Summary: summary, Detail: fmt.Sprintf(format, args...)})
	}
	var live *cluster.Facts
	var err error
	if len(checks) == 0 || !slices.ContainsFunc(checks, room.Only) {
		live, err = b.Facts(ctx)
	}
	if err != nil {
		var pe *providers.Error
		errors.As(err, &pe)
		out = append(out, scheduler.Away(strings.TrimSpace(pe.Error()+". "+pe.Hint)))
		live = nil
	} else if live != nil {
		b.preflightSite(live, tell)
		if live.LimitsAway != "" {
			out = append(out, providers.Finding{Check: -1, Warning: true, Summary: "Limits could not be asked", Detail: live.LimitsNote()})
		}
	}
	for i, c := range checks {
		preflightJob(i, c, tell)
	}
	return out, nil
}

// preflightSite checks the names in the backend block.
func (b *Site) preflightSite(s *cluster.Facts, tell func(int, string, string, ...any)) {
	names := make([]string, len(s.Partitions))
	for i, p := range s.Partitions {
		names[i] = p.Name
	}
	there := func(p string) bool { return slices.Contains(names, p) }
	for _, p := range b.Config.Partitions {
		if !there(p) && slices.ContainsFunc(b.Config.Partitions, there) { // where none is there, no place fits, and it says so
			tell(-1, "There is no such partition", "backend.%s names %s; %s", b.Name, p, cluster.Meant("partitions", p, slices.Clone(names)))
		}
	}
	if s.Enforced && len(s.Associations) == 0 {
		tell(-1, "You have no account here", "Slurm takes jobs of this cluster's accounts only, and user %s is in none; the site's support adds you to one", b.Cluster.User)
	}
	if s.Closed {
		return
	}
	if a, accounts := b.Config.Account, s.Accounts(); a != "" && !slices.Contains(accounts, a) {
		tell(-1, "The account is not yours", "backend.%s names account %s; %s", b.Name, a, yours(a, accounts))
	}
	if q := b.Config.QoS; q != "" && !slices.Contains(s.QoSNames(b.Config.Account), q) {
		tell(-1, "The qos is not yours", "backend.%s names qos %s; %s", b.Name, q, yours(q, s.QoSNames(b.Config.Account)))
	}
}

// yours says which names are the user's, and which may have been meant.
func yours(given string, names []string) string {
	text := "yours are " + strings.Join(names, ", ")
	if near := diag.Suggest(given, names); near != "" {
		text += "; did you mean " + near + "?"
	}
	return text
}

// preflightJob checks the options of like jobs; whether they fit a partition is
// said by their quotes.
func preflightJob(i int, c providers.Check, tell func(int, string, string, ...any)) {
	o, err := parseOptions(c.Options)
	if err != nil {
		tell(i, "Options cannot be read", "%v", err)
		return
	}
	if bad := ownOption(o.Extra); bad != "" {
		tell(i, "An option is muster's own", `options "slurm": extra holds %s`, bad)
	}
	s := o.Spread(c.Shape)
	if asked := o.Cores(s.Nodes); asked > max(s.CPUs, 1) {
		tell(i, "More cores than resources has", `options "slurm": extra = %q asks for %s in all, and resources for %s, on which price and limits rest: write cpus = %d`, o.Extra, units.Count(asked, "core"), units.Count(max(s.CPUs, 1), "core"), asked)
	}
}
