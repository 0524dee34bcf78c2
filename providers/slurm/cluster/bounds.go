package cluster

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/providers/offer"
)

// amounts are a limit's trackable resources; -1 is no limit. sacctmgr(1),
// GENERAL SPECIFICATIONS, MaxTRES.
type amounts struct {
	cpus, nodes, gpus int
	memory            int64 // bytes
}

var unlimited = amounts{-1, -1, -1, -1}

// parseAmounts reads "cpu=8,mem=10G,gres/gpu=2"; an absent name, or -1, has no limit. Memory
// without a unit is in MB.
func parseAmounts(text string) amounts {
	a := unlimited
	for name, value := range parseTRES(text) {
		n, err := strconv.Atoi(value)
		switch {
		case name == "mem" && err == nil && n >= 0:
			a.memory = int64(n) << 20
		case name == "mem":
			a.memory = parseKilo(value)
		case err != nil || n < 0:
		case name == "cpu":
			a.cpus = n
		case name == "node":
			a.nodes = n
		case name == "gres/gpu":
			a.gpus = n
		}
	}
	return a
}

// bounds are the limits that a qos or an association puts on one job.
type bounds struct {
	who     string        // "qos long", "account ucb123"
	maxWall time.Duration // 0 = no limit

	jobsOfUser, jobsOfAll int // running at once; 0 = no limit

	perJob, perNode, perUser, perAccount, group, least amounts
	typed                                              [5]map[string]int // GPUs of a type, in the order of spans
}

// free are bounds that limit nothing.
func free(who string) bounds {
	return bounds{who: who, perJob: unlimited, perNode: unlimited, perUser: unlimited, perAccount: unlimited, group: unlimited, least: unlimited}
}

// bounds are those under which a job of an account and a qos runs on a
// partition, the first first: of each limit the first that states it holds, and
// no other. The partition's qos comes before the job's, unless the job's has
// OverPartQOS, and both before the account. resource_limits.html, Hierarchy;
// seen on 22.05.
func (s *Facts) bounds(account, qos string, l *Partition) (list []bounds) {
	for _, q := range s.Qualities(qos, l) {
		list = append(list, q.bounds)
	}
	if a := s.association(account, l.Name); a != nil {
		list = append(list, a.bounds)
	}
	return list
}

// A span is whose sum a limit is, as a clause.
type span struct {
	of     string // "a job"
	get    func(*bounds) amounts
	shared bool // by jobs that run at once
}

var spans = []span{
	{"a job", func(b *bounds) amounts { return b.perJob }, false},
	{"a user", func(b *bounds) amounts { return b.perUser }, true},
	{"an account", func(b *bounds) amounts { return b.perAccount }, true},
	{"all its jobs together", func(b *bounds) amounts { return b.group }, true},
	{"a job on each node", func(b *bounds) amounts { return b.perNode }, false},
}

// onNodes is the span of the resources on each node of a job.
const onNodes = 4

// A measure is one resource of a limit.
type measure struct {
	name string // "cpus", as a campaign asks for it
	word string // "cores"
	get  func(amounts) int64
	text func(int64) string
}

var measures = []measure{
	{"cpus", "cores", func(a amounts) int64 { return int64(a.cpus) }, plain},
	{"memory", "of memory", func(a amounts) int64 { return a.memory }, units.FormatSize},
	{"gpus", "GPUs", func(a amounts) int64 { return int64(a.gpus) }, plain},
	{"nodes", "nodes", func(a amounts) int64 { return int64(a.nodes) }, plain},
}

func plain(n int64) string { return strconv.FormatInt(n, 10) }

// asks is the request of a shape, in all or of each node.
func asks(s offer.Shape, each bool) amounts {
	nodes := max(s.Nodes, 1)
	a := amounts{cpus: max(s.CPUs, nodes), nodes: nodes, gpus: s.GPUs, memory: s.Memory}
	if each {
		a = amounts{cpus: (a.cpus + nodes - 1) / nodes, nodes: 1, gpus: (a.gpus + nodes - 1) / nodes, memory: (a.memory + int64(nodes) - 1) / int64(nodes)}
	}
	return a
}

// stated is the first of some bounds that states a limit.
func stated(list []bounds, get func(*bounds) int64) (by *bounds, most int64) {
	for i := range list {
		if n := get(&list[i]); n >= 0 {
			return &list[i], n
		}
	}
	return nil, -1
}

// beyond names the first limit that a shape passes, and a shape within it; "" if none.
func beyond(list []bounds, shape offer.Shape) (why, would string) {
	for _, m := range measures {
		over := func(s span, asked int64) bool {
			by, most := stated(list, func(b *bounds) int64 { return m.get(s.get(b)) })
			if by == nil || asked <= most {
				return false
			}
			if most == 0 {
				why, would = fmt.Sprintf("%s gives no %s", by.who, strings.TrimPrefix(m.word, "of ")), ""
				return true
			}
			word := m.word
			if most == 1 {
				word = strings.TrimSuffix(word, "s")
			}
			why = fmt.Sprintf("%s gives %s %s %s at most, but the job requests %s", by.who, s.of, m.text(most), word, m.text(asked))
			would = fmt.Sprintf("ask for at most %s = %s", m.name, m.value(most))
			return true
		}
		for i, s := range spans {
			if over(s, m.get(asks(shape, i == onNodes))) {
				return why, would
			}
		}
		if by, least := stated(list, func(b *bounds) int64 { return m.get(b.least) }); by != nil && m.get(asks(shape, false)) < least && !(m.name == "memory" && shape.Memory == 0) {
			return fmt.Sprintf("%s takes jobs of %s %s or more, but the job requests %s", by.who, m.text(least), m.word, m.text(m.get(asks(shape, false)))),
				fmt.Sprintf("ask for %s = %s", m.name, m.value(least))
		}
	}
	return "", ""
}

// Running is how many jobs of a user may run at once under an account and a qos on a
// partition; 0 = no limit is known.
func (s *Facts) Running(account, qos string, l *Partition) int {
	list := s.bounds(account, qos, l)
	most := 0
	for _, get := range []func(*bounds) int{func(b *bounds) int { return b.jobsOfUser }, func(b *bounds) int { return b.jobsOfAll }} {
		if i := slices.IndexFunc(list, func(b bounds) bool { return get(&b) > 0 }); i >= 0 {
			most = Least(most, get(&list[i]))
		}
	}
	return most
}

// Most is the room that the jobs of an account and a qos on a partition may hold
// together, and whose limits these are: those of a user, an account, or all jobs of a qos
// or association, where others may hold a part. A limit on nodes limits their cores and
// GPUs.
func (s *Facts) Most(account, qos string, l *Partition) (most offer.Room, by string) {
	list := s.bounds(account, qos, l)
	type limit struct {
		n  int64
		by *bounds
	}
	var cores, memory, gpus limit
	least := func(have *limit, n int64, by *bounds) {
		if by != nil && n > 0 && (have.by == nil || n < have.n) {
			*have = limit{n, by}
		}
	}
	for _, x := range spans {
		for _, m := range measures {
			by, n := stated(list, func(b *bounds) int64 { return m.get(x.get(b)) })
			switch {
			case !x.shared:
			case m.name == "cpus":
				least(&cores, n, by)
			case m.name == "memory":
				least(&memory, n, by)
			case m.name == "gpus":
				least(&gpus, n, by)
			case m.name == "nodes":
				least(&cores, n*int64(l.CPUs), by)
				least(&gpus, n*int64(l.nodeGPUs()), by)
			}
		}
	}
	var who []string
	for _, x := range []limit{cores, memory, gpus} {
		if x.by != nil && !slices.Contains(who, x.by.who) {
			who = append(who, x.by.who)
		}
	}
	return offer.Room{Devices: int(gpus.n), Cores: int(cores.n), Memory: memory.n}, strings.Join(who, " and ")
}

// limitTypes reads limits on GPUs of a type, "gres/gpu:a100=2", of the texts of
// each span.
func (b *bounds) limitTypes(texts ...string) {
	for i, text := range texts {
		for name, value := range parseTRES(text) {
			model, ok := strings.CutPrefix(name, "gres/gpu:")
			n, err := strconv.Atoi(value)
			if !ok || err != nil || n < 0 {
				continue
			}
			if b.typed[i] == nil {
				b.typed[i] = map[string]int{}
			}
			b.typed[i][model] = n
		}
	}
}

// beyondType says which limit on GPUs of a type a shape passes that asks for
// them by this type; "" if none, or where it asks for any. Only who names a type
// is held to its limits. resource_limits.html, Specific Limits Over GRES.
func beyondType(list []bounds, shape offer.Shape, model string) (why, would string) {
	if model == "" {
		return "", ""
	}
	for i, s := range spans {
		asked := asks(shape, i == onNodes).gpus
		for _, b := range list {
			most, ok := b.typed[i][model]
			if !ok {
				continue
			}
			if asked > most {
				return fmt.Sprintf("%s gives %s %s of type %s at most, but the job requests %d", b.who, s.of, units.Count(most, "GPU"), model, asked), fmt.Sprintf("ask for at most gpus = %d, or for another model", most)
			}
			break // the first that states it holds
		}
	}
	return "", ""
}

// value is an amount as a campaign writes it.
func (m measure) value(n int64) string {
	if m.name == "memory" {
		return strconv.Quote(m.text(n))
	}
	return m.text(n)
}
