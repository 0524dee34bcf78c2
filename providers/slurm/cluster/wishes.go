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

// Wishes are options of a job that name things of the cluster, as sbatch(1)
// has them; "" for none.
type Wishes struct {
	Constraint  string // --constraint
	Reservation string // --reservation
	Licenses    string // --licenses
}

// A reservation is nodes set aside for some users and a time.
type reservation struct {
	name       string
	start, end time.Time
	users      []string
	accounts   []string
	partition  string
}

// parseReservations reads scontrol -o show reservation, with times in seconds.
func parseReservations(out string) (list []reservation) {
	for line := range strings.Lines(out) {
		f := parseWords(line)
		if f["ReservationName"] == "" {
			continue
		}
		list = append(list, reservation{name: f["ReservationName"], start: epoch(f["StartTime"]), end: epoch(f["EndTime"]), users: nameList(f["Users"]),
			accounts: nameList(f["Accounts"]), partition: f["PartitionName"]})
	}
	return list
}

// parseLicenses reads scontrol -o show licenses: how many there are, by name.
func parseLicenses(out string) map[string]int {
	list := map[string]int{}
	for line := range strings.Lines(out) {
		if f := parseWords(line); f["LicenseName"] != "" {
			list[f["LicenseName"]] = number(f["Total"])
		}
	}
	return list
}

// Unmet says why what a user's job of a shape wishes for cannot be had on a
// partition, and what would help: features, licenses and reservations that are
// not there. "" if it can, or if the site does not tell.
func (s *Facts) Unmet(me string, shape offer.Shape, o Wishes, l *Partition) (why, would string) {
	for _, feature := range features(o.Constraint) {
		if slices.Contains(l.features, feature) {
			continue
		}
		var where, all []string
		for _, p := range s.Partitions {
			if slices.Contains(p.features, feature) {
				where = append(where, p.Name)
			}
			all = append(all, p.features...)
		}
		if len(where) > 0 {
			return fmt.Sprintf("no node of partition %s has feature %s", l.Name, feature), "choose partition " + strings.Join(where, " or ")
		}
		return fmt.Sprintf("no node here has feature %s; %s", feature, Meant("features", feature, all)), ""
	}
	for name, n := range licenses(o.Licenses) {
		total, ok := s.licenses[name]
		switch {
		case s.licenses == nil:
		case !ok:
			return fmt.Sprintf("there is no license %s here; %s", name, Meant("licenses", name, slices.Collect(maps.Keys(s.licenses)))), ""
		case n > total:
			return fmt.Sprintf("there are %d licenses %s, %d are asked for", total, name, n), ""
		}
	}
	if o.Reservation != "" && s.reservations != nil {
		return s.reserved(me, shape, o.Reservation, l)
	}
	return "", ""
}

// reserved says why a job cannot run in a reservation.
func (s *Facts) reserved(me string, shape offer.Shape, name string, l *Partition) (why, would string) {
	var names []string
	for _, r := range *s.reservations {
		names = append(names, r.name)
		switch {
		case r.name != name:
		case !r.end.IsZero() && !r.end.After(time.Now()):
			return fmt.Sprintf("reservation %s ended %s", name, r.end.Format("2006-01-02 15:04")), ""
		case !r.end.IsZero() && time.Until(r.end) < shape.Walltime:
			left := time.Until(r.end).Truncate(time.Minute)
			return fmt.Sprintf("reservation %s ends in %s, the walltime is %s", name, units.FormatDuration(left), units.FormatDuration(shape.Walltime)), "shorten walltime"
		case r.partition != "" && r.partition != "(null)" && r.partition != l.Name:
			return fmt.Sprintf("reservation %s is of partition %s", name, r.partition), "choose partition " + r.partition
		case len(r.users) > 0 && len(r.accounts) == 0 && !slices.Contains(r.users, me) && !strings.HasPrefix(r.users[0], "-"):
			return fmt.Sprintf("reservation %s is for users %s", name, strings.Join(r.users, ", ")), ""
		default:
			return "", ""
		}
	}
	return fmt.Sprintf("there is no reservation %s here, it may have expired; %s", name, Meant("reservations", name, names)), ""
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

// licenses are those of "matlab:2,stata", how many of each. sbatch(1),
// --licenses; alternatives are in "a|b" and are not held against anything.
func licenses(text string) map[string]int {
	out := map[string]int{}
	if strings.Contains(text, "|") {
		return out
	}
	for _, w := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ';' }) {
		name, n, _ := strings.Cut(strings.TrimSpace(w), ":")
		if name != "" {
			out[name] = max(number(n), 1)
		}
	}
	return out
}

// Meant is what to say of a name that is not known: the one that was meant, or
// those that there are; what is their plural. names is put in order.
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
