package pbs

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/shell"
	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/batch/scheduler"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/pbs/cluster"
)

// Script is the text for qsub. It is meant to be read: lines that a person would
// write, and one command that runs an element.
func (b *Site) Script(r scheduler.Request) (string, error) {
	o, err := parseOptions(r.Job.Options)
	if err == nil {
		err = o.wrong()
	}
	if err != nil {
		return "", providers.Errorf(providers.Invalid, "phase.%s: %v", r.Job.Phase, err)
	}
	var s strings.Builder
	s.WriteString(r.Shebang())
	set := func(option, value string) {
		if value != "" {
			fmt.Fprintf(&s, "#PBS %s %s\n", option, value)
		}
	}
	set("-N", r.Name)
	set("-A", b.Config.Account)
	set("-q", r.Pool)
	if r.Array {
		list := fmt.Sprintf("%d-%d", r.Indexes[0], r.Indexes[len(r.Indexes)-1])
		if r.Cap > 0 && r.Cap < r.Count {
			list += "%" + strconv.Itoa(r.Cap)
		}
		set("-J", list)
	}
	for _, l := range b.resources(r.Job.Shape, o) {
		set("-l", l)
	}
	if len(r.Depend) > 0 {
		set("-W", "depend="+scheduler.Terms(cluster.Notation{}, r.Depend))
	}
	set("-r", map[bool]string{true: "y", false: "n"}[b.returns(r)])
	s.WriteString("#PBS -j oe\n#PBS -k doe\n")
	set("-o", filepath.Join(r.Spool, "out")+"/")
	if o.Mail != "" {
		set("-M", o.Mail)
		set("-m", "ae")
	} else {
		set("-m", "n")
	}
	s.WriteString("\n" + b.exports() + r.About("PBS") + r.Exec())
	return s.String(), nil
}

// exports are the variables that the site's nodes need.
func (b *Site) exports() string {
	if b.Profile == nil || len(b.Profile.Env) == 0 {
		return ""
	}
	text := ""
	for _, name := range slices.Sorted(maps.Keys(b.Profile.Env)) {
		text += fmt.Sprintf("export %s=%s\n", name, shell.Quote(b.Profile.Env[name]))
	}
	return text + "\n"
}

// returns reports whether PBS may put a job back into the queue; it takes no other arrays. A
// start that may not run again refuses.
func (b *Site) returns(r scheduler.Request) bool {
	return r.Array || r.Job.Retry.Max > 1 || b.Profile != nil && b.Profile.Queues[r.Pool].Rerun
}

// resources are the values of qsub's -l.
func (b *Site) resources(s offer.Shape, o Options) (list []string) {
	s = o.Spread(s)
	chunk, place, whole := "", "", false
	if b.Profile != nil {
		chunk, place, whole = b.Profile.Chunk, b.Profile.Place, b.Profile.WholeNode
	}
	terms := []string{strconv.Itoa(s.Nodes)}
	if !whole {
		each := func(n int) int { return (n + s.Nodes - 1) / s.Nodes }
		terms = append(terms, fmt.Sprintf("ncpus=%d", each(max(s.CPUs, 1))))
		if s.GPUs > 0 {
			terms = append(terms, fmt.Sprintf("ngpus=%d", each(s.GPUs)))
		}
		if s.Memory > 0 {
			terms = append(terms, "mem="+size((s.Memory+int64(s.Nodes)-1)/int64(s.Nodes)))
		}
	}
	for _, more := range []string{chunk, o.Chunk} {
		if more != "" {
			terms = append(terms, more)
		}
	}
	list = append(list, "select="+strings.Join(terms, ":"))
	if p := cmp.Or(o.Place, b.Config.Place, place); p != "" {
		list = append(list, "place="+p)
	}
	if s.Walltime > 0 {
		list = append(list, "walltime="+hours(s.Walltime))
	}
	if f := cmp.Or(o.Filesystems, b.Config.Filesystems); f != "" {
		list = append(list, "filesystems="+f)
	}
	return append(list, o.Resources...)
}

// hours is a duration as "HH:MM:SS", rounded up to seconds.
func hours(d time.Duration) string {
	n := int((d + time.Second - 1) / time.Second)
	return fmt.Sprintf("%02d:%02d:%02d", n/3600, n/60%60, n%60)
}

// size is a size in PBS's units, which are powers of 1024, rounded up.
func size(bytes int64) string {
	const mib, gib = 1 << 20, 1 << 30
	if bytes%gib == 0 {
		return strconv.FormatInt(bytes/gib, 10) + "gb"
	}
	return strconv.FormatInt((bytes+mib-1)/mib, 10) + "mb"
}
