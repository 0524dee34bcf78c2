package cluster

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/diag"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/providers/offer"
)

// Requirements are options of a job that name things of the cluster, as sbatch(1)
// has them; "" for none.
type Requirements struct {
	Constraint  string // --constraint
	Reservation string // --reservation
	Licenses    string // --licenses
	Nodes       string // --nodelist
}

// A reservation is nodes set aside for some users and a time.
type reservation struct {
	name       string
	start, end time.Time
	users      []string
	accounts   []string
	groups     []string
	partition  string
	nodes      int  // 0 = not told
	flexible   bool // its jobs may run beyond its nodes and times
}

// parseReservations reads scontrol -o show reservation, with times in seconds.
func parseReservations(out string) (list []reservation) {
	for line := range strings.Lines(out) {
		f := parseWords(line)
		if f["ReservationName"] == "" {
			continue
		}
		list = append(list, reservation{name: f["ReservationName"], start: epoch(f["StartTime"]), end: epoch(f["EndTime"]), users: nameList(f["Users"]),
			accounts: nameList(f["Accounts"]), groups: nameList(f["Groups"]), partition: f["PartitionName"], nodes: number(f["NodeCnt"]),
			flexible: slices.Contains(strings.Split(f["Flags"], ","), "FLEX")})
	}
	return list
}

// Unmet says why no partition meets the requirements of a user's job of a shape (features,
// licenses, reservations), with a remedy; "" = one does, or it is unknown. Account "" is any
// of the user's.
func (s *Facts) Unmet(me, account string, shape offer.Shape, o Requirements) (why, would string) {
	var all []string
	for _, p := range s.Partitions {
		all = append(all, p.features...)
	}
	for _, feature := range features(o.Constraint) {
		if !slices.Contains(all, feature) { // refused even beside others that are there
			return fmt.Sprintf("no node here has feature %s; %s", feature, Meant("features", feature, all)), ""
		}
	}
	for name, n := range licenses(o.Licenses) {
		have, ok := s.licenses[name]
		switch {
		case s.licenses == nil:
		case !ok:
			return fmt.Sprintf("there is no license %s here; %s", name, Meant("licenses", name, slices.Collect(maps.Keys(s.licenses)))), ""
		case n > have.total:
			return fmt.Sprintf("there are %d licenses %s, but the job requests %d", have.total, name, n), fmt.Sprintf("ask for at most licenses = \"%s:%d\"", name, have.total)
		}
	}
	if o.Reservation != "" && s.reservations != nil {
		return s.reserved(me, account, shape, o.Reservation)
	}
	return "", ""
}

// UnmetOn is Unmet for one partition, of resources that exist elsewhere.
func (s *Facts) UnmetOn(l *Partition, o Requirements) (why, would string) {
	if lacking := l.lacking(o.Constraint); lacking != "" {
		return fmt.Sprintf("no node of partition %s has feature %s", l.Name, lacking), s.where(func(p *Partition) bool { return p.lacking(o.Constraint) == "" })
	}
	if o.Nodes != "" && !l.hasNode(o.Nodes) {
		return fmt.Sprintf("partition %s has no node %s", l.Name, o.Nodes), s.where(func(p *Partition) bool { return p.hasNode(o.Nodes) })
	}
	if r := s.reservation(o.Reservation); r != nil && r.partition != "" && r.partition != "(null)" && r.partition != l.Name {
		return fmt.Sprintf("reservation %s belongs to partition %s", r.name, r.partition), "choose partition " + r.partition
	}
	return "", ""
}

// where names the partitions that have something.
func (s *Facts) where(has func(*Partition) bool) string {
	var names []string
	for i := range s.Partitions {
		if p := &s.Partitions[i]; has(p) {
			names = append(names, p.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "choose partition " + strings.Join(names, " or ")
}

// hasNode reports whether a partition has one of a list of nodes; true where its
// nodes are not told, or the list is in a file.
func (l *Partition) hasNode(list string) bool {
	return len(l.nodes) == 0 || strings.Contains(list, "/") || slices.ContainsFunc(l.nodes, func(n nodeFacts) bool { return hostIn(list, n.name) })
}

// lacking are the features of a constraint that no node of a partition has, ""
// if it has those of all of it, or of one of the choices that it offers.
func (l *Partition) lacking(constraint string) string {
	var missing []string
	for _, choice := range choices(constraint) {
		lacks := slices.DeleteFunc(features(choice), func(f string) bool { return slices.Contains(l.features, f) })
		if len(lacks) == 0 {
			return ""
		}
		if !slices.Contains(missing, lacks[0]) {
			missing = append(missing, lacks[0])
		}
	}
	return strings.Join(missing, " or ")
}

// choices are the alternatives of a constraint, "a100|h100&ib": where they are
// within parentheses each word of it may be one.
func choices(constraint string) []string {
	if strings.Contains(constraint, "|") && strings.ContainsAny(constraint, "[(") {
		return features(constraint)
	}
	return strings.Split(constraint, "|")
}

// reservation is that of a name; nil if there is none, or it is not told.
func (s *Facts) reservation(name string) *reservation {
	if s == nil || s.reservations == nil || name == "" {
		return nil
	}
	for i := range *s.reservations {
		if r := &(*s.reservations)[i]; r.name == name {
			return r
		}
	}
	return nil
}

// Opens is when a reservation begins that has not begun; the zero time if it
// has, or is not known.
func (s *Facts) Opens(name string) time.Time {
	if r := s.reservation(name); r != nil && !r.flexible && r.start.After(time.Now()) {
		return r.start
	}
	return time.Time{}
}

// reserved says why a job cannot run in a reservation.
func (s *Facts) reserved(me, account string, shape offer.Shape, name string) (why, would string) {
	r := s.reservation(name)
	if r == nil {
		var names []string
		for _, r := range *s.reservations {
			names = append(names, r.name)
		}
		return fmt.Sprintf("there is no reservation %s here, it may have expired; %s", name, Meant("reservations", name, names)), ""
	}
	if !r.end.IsZero() && !r.end.After(time.Now()) {
		return fmt.Sprintf("reservation %s ended %s", name, units.FormatTime(r.end)), ""
	}
	if why := r.others(me, account, s.Accounts()); why != "" {
		return why, ""
	}
	left, from := time.Until(r.end).Truncate(time.Minute), "ends in"
	if !s.Opens(name).IsZero() {
		left, from = r.end.Sub(r.start), "lasts"
	}
	if most := max(left, time.Minute); !r.end.IsZero() && !r.flexible && shape.Walltime > most {
		return fmt.Sprintf("reservation %s %s %s, the walltime is %s", name, from, units.FormatDuration(left), units.FormatDuration(shape.Walltime)),
			fmt.Sprintf("walltime = %q at most", units.ShortDuration(most))
	}
	if nodes := max(shape.Nodes, 1); r.nodes > 0 && !r.flexible && nodes > r.nodes {
		return fmt.Sprintf("reservation %s has %s, but the job requests %d", name, units.Count(r.nodes, "node"), nodes), fmt.Sprintf("ask for at most nodes = %d", r.nodes)
	}
	return "", ""
}

// others says whose a reservation is that is not this user's: it is for those
// whom it names, or whose account. One that names whom it is not for, by a
// minus, or groups, is left to Slurm.
func (r *reservation) others(me, account string, accounts []string) string {
	except := func(list []string) bool { return len(list) > 0 && strings.HasPrefix(list[0], "-") }
	if account != "" {
		accounts = []string{account}
	}
	mine := func(a string) bool { return slices.Contains(r.accounts, a) }
	switch {
	case len(r.users)+len(r.accounts) == 0, len(r.groups) > 0, except(r.users), except(r.accounts):
	case slices.Contains(r.users, me), slices.ContainsFunc(accounts, mine):
	case len(r.accounts) > 0 && len(accounts) == 0: // whose they are is not told
	case len(r.accounts) == 0:
		return fmt.Sprintf("reservation %s is for users %s", r.name, strings.Join(r.users, ", "))
	case len(r.users) == 0:
		return fmt.Sprintf("reservation %s is for accounts %s", r.name, strings.Join(r.accounts, ", "))
	default:
		return fmt.Sprintf("reservation %s is for users %s and accounts %s", r.name, strings.Join(r.users, ", "), strings.Join(r.accounts, ", "))
	}
	return ""
}

// features are the words of a constraint: "intel&gpu", "[rack1*2&rack2*4]",
// "(a|b)". sbatch(1), --constraint.
func features(constraint string) (words []string) {
	for _, w := range strings.FieldsFunc(constraint, func(r rune) bool { return strings.ContainsRune("&|,[]()", r) }) {
		w, _, _ = strings.Cut(w, "*")
		if w = strings.TrimSpace(w); w != "" {
			words = append(words, w)
		}
	}
	return words
}

// Meant completes the message about an unknown name: the similar name, or the known ones; what
// is their plural. It sorts names.
func Meant(what, given string, names []string) string {
	slices.Sort(names)
	names = slices.Compact(slices.DeleteFunc(names, func(n string) bool { return n == "" }))
	switch {
	case len(names) == 0:
		return "there are no " + what
	case diag.Suggest(given, names) != "":
		return fmt.Sprintf("did you mean %s?", diag.Suggest(given, names))
	}
	return "there are " + strings.Join(names, ", ")
}
