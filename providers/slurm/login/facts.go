package login

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/slurm/node"
	"github.com/muster-run/muster/providers/slurm/profiles"
)

// factsLast is for how long what a cluster said of itself is believed.
const factsLast = 2 * time.Minute

// siteFacts are what a cluster says of itself.
type siteFacts struct {
	partitions []livePartition
	qos        []liveQoS
	assoc      []association
	closed     bool // accounting does not answer, or not us: nothing is known of qos and accounts
	// requeueExits are the exit statuses that the site requeues or holds jobs for.
	requeueExits []int
	maxTRES      bool           // billing is the largest of what a job has, weighted, and not the sum
	enforced     bool           // nobody may submit without an account
	maxArray     int            // elements of one array; 0 = not known
	maxJobs      int            // that the controller keeps, of all users; 0 = not known
	licenses     map[string]int // nil = not known
	// reservations are nil if they are not known.
	reservations *[]reservation
	groups       []string // of this user; nil = not known, or all may be used
}

// cachedFacts are the facts of a backend, asked for at most so often.
type cachedFacts struct {
	mu   sync.Mutex
	at   time.Time
	site *siteFacts
	err  error
}

type livePartition struct {
	name              string
	up                bool
	isDefault         bool
	maxTime           time.Duration // 0 = unlimited
	maxNodes          int           // 0 = unlimited
	minNodes          int
	qos               string   // of the partition itself
	allowQoS          []string // nil = all
	denyQoS           []string
	accounts          []string           // nil = all
	groups            []string           // nil = all
	weights           map[string]float64 // of what is billed, by lower-case name; nil = cores alone
	nodes             int
	cpus              int            // of one node
	memory            int64          // bytes of one node
	gpus              map[string]int // of one node, by type; "" = without type
	allCPUs, idleCPUs int
	allGPUs, idleGPUs int
	features          []string
	archs             []string // processors of its nodes, as Go names them
}

// A liveQoS is a quality of service; zero is no limit.
type liveQoS struct {
	name        string
	maxWall     time.Duration
	maxSubmit   int // jobs of one user, queued or running
	maxSubmitPA int // of one account
	grpSubmit   int // of all
	maxJobs     int // of one user, running
	maxGPUs     int // of one user
	jobGPUs     int // of one job
}

// submitted is how many jobs a user may have at most.
func (q *liveQoS) submitted() int { return least(least(q.maxSubmit, q.maxSubmitPA), q.grpSubmit) }

type association struct {
	account, partition string
	qos                []string
	defaultQoS         string
	maxSubmit          int
	maxWall            time.Duration
}

// limitsLast is for how long the limits of a cluster are believed while jobs
// are handed over: an hour's watch asks for them once.
const limitsLast = time.Hour

// site asks the cluster, at most every so often.
func (b *backend) site(ctx context.Context) (*siteFacts, error) { return b.siteWithin(ctx, factsLast) }

// siteWithin is what the cluster said of itself at most so long ago.
func (b *backend) siteWithin(ctx context.Context, age time.Duration) (*siteFacts, error) {
	f := &b.facts
	f.mu.Lock()
	defer f.mu.Unlock()
	if since := time.Since(f.at); since < factsLast || f.err == nil && f.site != nil && since < age {
		return f.site, f.err
	}
	f.site, f.err = b.cluster.facts(ctx)
	f.at = time.Now()
	return f.site, f.err
}

// facts asks Slurm for its partitions and nodes, and accounting for the
// limits, which a site may close.
func (c *cluster) facts(ctx context.Context) (*siteFacts, error) {
	s := &siteFacts{}
	out, err := c.told(ctx, askTimeout, "scontrol", "-o", "-a", "show", "partition")
	if err != nil {
		return nil, err
	}
	s.partitions = parsePartitions(string(out))
	out, err = c.told(ctx, askTimeout, "sinfo", "-h", "-a", "-N", "-O", nodeFields)
	if err != nil {
		return nil, err
	}
	addNodes(s.partitions, string(out))
	if out, err := c.told(ctx, askTimeout, "scontrol", "show", "config"); err == nil {
		config := parseConfig(string(out))
		s.requeueExits = requeueExits(config)
		s.maxTRES = strings.Contains(config["PriorityFlags"], "MAX_TRES")
		s.enforced = strings.Contains(strings.ToLower(config["AccountingStorageEnforce"]), "associations")
		s.maxArray, s.maxJobs = maxArray(config), number(config["MaxJobCount"])
	}
	if out, err := c.told(ctx, askTimeout, "scontrol", "-o", "-a", "show", "nodes"); err == nil {
		by := parseArchs(string(out))
		for i := range s.partitions {
			s.partitions[i].archs = by[s.partitions[i].name]
		}
	}
	if out, err := c.told(ctx, askTimeout, "scontrol", "-o", "show", "licenses"); err == nil {
		s.licenses = parseLicenses(string(out))
	}
	if out, err := c.told(ctx, askTimeout, "scontrol", "-o", "show", "reservation"); err == nil {
		list := parseReservations(string(out))
		s.reservations = &list
	}
	s.groups = groupNames()
	qos, err := c.told(ctx, accountTimeout, "sacctmgr", "-n", "-P", "show", "qos", "format="+strings.Join(qosFields, ","))
	if err == nil {
		s.qos = parseQoS(string(qos))
	}
	assoc, err2 := c.told(ctx, accountTimeout, "sacctmgr", "-n", "-P", "show", "assoc", "where", "user="+c.user, "format="+strings.Join(assocFields, ","))
	if err2 == nil {
		s.assoc = parseAssoc(string(assoc))
	}
	s.closed = err != nil || err2 != nil || len(s.assoc) == 0
	s.enforced = s.enforced && err == nil && err2 == nil
	return s, nil
}

// parsePartitions reads scontrol -o show partition.
func parsePartitions(out string) (list []livePartition) {
	for line := range strings.Lines(out) {
		f := parseWords(line)
		if f["PartitionName"] == "" {
			continue
		}
		p := livePartition{name: f["PartitionName"], up: f["State"] == "UP" || f["State"] == "", isDefault: f["Default"] == "YES",
			maxTime: parseLimit(f["MaxTime"]), allowQoS: nameList(f["AllowQos"]), denyQoS: nameList(f["DenyQos"]), accounts: nameList(f["AllowAccounts"]),
			groups: nameList(f["AllowGroups"]), weights: parseWeights(f["TRESBillingWeights"]), gpus: map[string]int{}}
		p.maxNodes, _ = strconv.Atoi(f["MaxNodes"])
		p.minNodes, _ = strconv.Atoi(f["MinNodes"])
		p.nodes, _ = strconv.Atoi(f["TotalNodes"])
		if q := f["QoS"]; q != "N/A" {
			p.qos = q
		}
		list = append(list, p)
	}
	return list
}

// nameList reads a list of names; ALL, N/A and nothing are no list.
func nameList(s string) []string {
	if s == "" || s == "ALL" || s == "N/A" || s == "NONE" || s == "(null)" {
		return nil
	}
	return strings.Split(s, ",")
}

// nodeFields are sinfo's, each of a fixed width. sinfo(1), -O.
const nodeFields = "NodeList:64,PartitionName:64,StateLong:24,CPUsState:32,Memory:16,Gres:256,GresUsed:256,Features:256"

var nodeWidths = []int{64, 64, 24, 32, 16, 256, 256, 256}

// addNodes adds up nodes by partition.
func addNodes(list []livePartition, out string) {
	for line := range strings.Lines(out) {
		f := columns(strings.TrimRight(line, "\n"), nodeWidths)
		i := slices.IndexFunc(list, func(p livePartition) bool { return p.name == strings.TrimSuffix(f[1], "*") })
		if i < 0 {
			continue
		}
		list[i].add(f)
	}
}

func columns(line string, widths []int) []string {
	out := make([]string, len(widths))
	for i, w := range widths {
		n := min(w, len(line))
		out[i], line = strings.TrimSpace(line[:n]), line[n:]
	}
	return out
}

func (p *livePartition) add(f []string) {
	usable := true
	for _, bad := range []string{"down", "drain", "fail", "maint", "unknown", "*"} {
		usable = usable && !strings.Contains(f[2], bad)
	}
	cpus := strings.Split(f[3], "/") // allocated/idle/other/total
	if len(cpus) == 4 {
		idle, _ := strconv.Atoi(cpus[1])
		total, _ := strconv.Atoi(cpus[3])
		p.cpus, p.allCPUs = max(p.cpus, total), p.allCPUs+total
		if usable {
			p.idleCPUs += idle
		}
	}
	if mib, err := strconv.ParseInt(f[4], 10, 64); err == nil {
		p.memory = max(p.memory, mib<<20)
	}
	has, used := parseGres(f[5]), parseGres(f[6])
	for model, n := range has {
		p.gpus[model] = max(p.gpus[model], n)
		p.allGPUs += n
		if usable {
			p.idleGPUs += n
		}
	}
	for _, n := range used {
		if usable {
			p.idleGPUs -= n
		}
	}
	for _, feature := range nameList(f[7]) {
		if !slices.Contains(p.features, feature) {
			p.features = append(p.features, feature)
		}
	}
}

// parseGres reads "gpu:a100:3(S:0-1),gpu:a100:2(IDX:0,1),craynetwork:4": the
// GPUs by type. Commas stand within parentheses, too.
func parseGres(s string) map[string]int {
	out := map[string]int{}
	depth := 0
	parts := strings.FieldsFunc(s, func(r rune) bool {
		switch r {
		case '(':
			depth++
		case ')':
			depth--
		}
		return r == ',' && depth == 0
	})
	for _, part := range parts {
		part, _, _ = strings.Cut(part, "(")
		w := strings.Split(part, ":")
		n, err := strconv.Atoi(w[len(w)-1])
		switch {
		case w[0] != "gpu", err != nil, len(w) < 2:
		case len(w) == 2:
			out[""] += n
		default:
			out[w[1]] += n
		}
	}
	return out
}

// parseConfig reads "Name = value" lines.
func parseConfig(out string) map[string]string {
	config := map[string]string{}
	for line := range strings.Lines(out) {
		if name, value, ok := strings.Cut(line, "="); ok {
			config[strings.TrimSpace(name)] = strings.TrimSpace(value)
		}
	}
	return config
}

// requeueExits are RequeueExit and RequeueExitHold: "99", "1-3,98". slurm.conf(5).
func requeueExits(config map[string]string) (out []int) {
	for _, name := range []string{"RequeueExit", "RequeueExitHold"} {
		if list, err := parseIndexes(config[name]); err == nil && len(list) <= 256 {
			out = append(out, list...)
		}
	}
	return slices.DeleteFunc(out, func(n int) bool { return n <= 0 })
}

// maxArray is how many elements an array may have. slurm.conf(5), MaxArraySize
// ("one more than the largest index") and SchedulerParameters, max_array_tasks.
func maxArray(config map[string]string) int {
	most := max(number(config["MaxArraySize"])-1, 0)
	for _, p := range strings.Split(config["SchedulerParameters"], ",") {
		if n, ok := strings.CutPrefix(p, "max_array_tasks="); ok {
			most = least(most, number(n))
		}
	}
	return most
}

// number reads a count; what is none is 0.
func number(s string) int {
	n, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// What sacctmgr is asked for, none of it newer than 17.11. What a version does
// not print at the end is missing.
var (
	qosFields   = []string{"Name", "Priority", "MaxWall", "MaxTRESPU", "MaxJobsPU", "MaxSubmitPU", "GrpTRES", "Flags", "MaxSubmitPA", "GrpSubmit", "MaxTRES"}
	assocFields = []string{"Cluster", "Account", "User", "Partition", "QOS", "DefaultQOS", "MaxJobs", "MaxSubmit", "MaxWall", "GrpTRES", "GrpSubmit"}
)

// parseTable reads sacctmgr -n -P: a line for each, its fields by name.
func parseTable(out string, names []string, least int) (rows []map[string]string) {
	for line := range strings.Lines(out) {
		f := strings.Split(strings.TrimRight(line, "\n"), "|")
		if len(f) < least || len(f) > len(names) {
			continue
		}
		row := map[string]string{}
		for i, v := range f {
			row[names[i]] = strings.TrimSpace(v)
		}
		rows = append(rows, row)
	}
	return rows
}

func parseQoS(out string) (list []liveQoS) {
	for _, r := range parseTable(out, qosFields, 8) {
		if r["Name"] == "" {
			continue
		}
		list = append(list, liveQoS{name: r["Name"], maxWall: parseLimit(r["MaxWall"]), maxSubmit: number(r["MaxSubmitPU"]), maxSubmitPA: number(r["MaxSubmitPA"]),
			grpSubmit: number(r["GrpSubmit"]), maxJobs: number(r["MaxJobsPU"]), maxGPUs: number(parseTRES(r["MaxTRESPU"])["gres/gpu"]),
			jobGPUs: number(parseTRES(r["MaxTRES"])["gres/gpu"])})
	}
	return list
}

func parseAssoc(out string) (list []association) {
	for _, r := range parseTable(out, assocFields, 10) {
		if r["Account"] == "" {
			continue
		}
		list = append(list, association{account: r["Account"], partition: r["Partition"], qos: nameList(r["QOS"]), defaultQoS: r["DefaultQOS"],
			maxSubmit: least(number(r["MaxSubmit"]), number(r["GrpSubmit"])), maxWall: parseLimit(r["MaxWall"])})
	}
	return list
}

// association is that under which a job of an account runs on a partition: the
// one for that partition, else that for all. Without an account it is the
// user's only one, if there is only one; nil if that is not known.
func (s *siteFacts) association(account, partition string) (found *association) {
	for i := range s.assoc {
		a := &s.assoc[i]
		switch {
		case account == "" && a.account != s.assoc[0].account:
			return nil // the default one is not told
		case account != "" && a.account != account, a.partition != "" && a.partition != partition:
		case found == nil, a.partition != "":
			found = a
		}
	}
	return found
}

func (s *siteFacts) partition(name string) *livePartition {
	for i := range s.partitions {
		if s.partitions[i].name == name {
			return &s.partitions[i]
		}
	}
	return nil
}

func (s *siteFacts) quality(name string) *liveQoS {
	for i := range s.qos {
		if s.qos[i].name == name {
			return &s.qos[i]
		}
	}
	return nil
}

// Pools are the partitions: what the profile knows, and over it what the
// cluster says now. A cluster that cannot be asked is planned for from its
// profile.
func (s *Slurm) Pools(ctx context.Context, name string) ([]offer.Pool, error) {
	b, err := s.backend(name)
	if err != nil {
		return nil, err
	}
	return b.pools(ctx)
}

func (b *backend) pools(ctx context.Context) ([]offer.Pool, error) {
	live, err := b.site(ctx)
	if err != nil && b.profile == nil {
		return nil, err
	}
	var all []offer.Pool
	if err != nil {
		all = b.known(err.Error())
	} else {
		for i := range live.partitions {
			all = append(all, b.pool(live, &live.partitions[i]))
		}
		standFor(all)
	}
	return b.chosen(all), nil
}

// known are the profile's partitions; why says that nobody else was asked.
func (b *backend) known(why string) []offer.Pool {
	all := slices.Clone(b.profile.Pools)
	for i := range all {
		all[i].Idle, all[i].Wait = -1, -1
		all[i].Notes = append(slices.Clone(all[i].Notes), "the cluster could not be asked: "+why)
		if b.Price.Known {
			all[i].Price = b.Price
		}
	}
	return all
}

// Known are a backend's partitions as its profile has them, for a cluster
// that cannot be asked; nil if it has none.
func Known(b providers.Backend, why string) []offer.Pool {
	k := &backend{Backend: b}
	if len(b.Config) > 0 && json.Unmarshal(b.Config, &k.config) != nil {
		return nil
	}
	p, err := profiles.Load(b.Profile, b.Name)
	if err != nil {
		return nil
	}
	k.profile = &p
	return k.chosen(k.known(why))
}

// chosen are the partitions that the backend block lets be used, in its order.
func (b *backend) chosen(all []offer.Pool) (out []offer.Pool) {
	for _, p := range all {
		if slices.Contains(b.config.Exclude, p.Name) || len(b.config.Partitions) > 0 && !slices.Contains(b.config.Partitions, p.Name) {
			continue
		}
		out = append(out, p)
	}
	if order := b.config.Partitions; len(order) > 0 {
		slices.SortStableFunc(out, func(x, y offer.Pool) int { return slices.Index(order, x.Name) - slices.Index(order, y.Name) })
	}
	return out
}

// pool is one partition, the live facts over those of the profile.
func (b *backend) pool(s *siteFacts, l *livePartition) offer.Pool {
	p := offer.Pool{Backend: b.Name, Name: l.name, Word: "partition", Price: offer.Price{Known: true}, Source: "live"}
	if b.profile != nil {
		if i := slices.IndexFunc(b.profile.Pools, func(p offer.Pool) bool { return p.Name == l.name }); i >= 0 {
			p = b.profile.Pools[i]
			p.Source = "live, and profile " + b.profile.Name
		}
	}
	if b.Price.Known {
		p.Price = b.Price
	}
	p.Arrays, p.Wait, p.MinNodes = true, -1, max(l.minNodes, 1)
	if home, err := os.UserHomeDir(); err == nil {
		p.Home = home // where a workdir's ~ is
	}
	p.CPUs, p.Memory, p.MaxTime = l.cpus, l.memory, l.maxTime
	if p.MaxNodes = l.nodes; l.maxNodes > 0 {
		p.MaxNodes = min(l.maxNodes, l.nodes)
	}
	p.Idle, p.Total = l.idleCPUs, l.allCPUs
	if l.allGPUs > 0 {
		p.Idle, p.Total, p.GPUs = l.idleGPUs, l.allGPUs, 0
		for model, n := range l.gpus {
			p.GPUs = max(p.GPUs, n)
			if p.GPUModel == "" {
				p.GPUModel = modelName(model)
			}
		}
		if p.GPUClass == "" {
			p.GPUClass = p.GPUModel
		}
	}
	lower := strings.ToLower(l.name)
	p.Testing = p.Testing || strings.Contains(lower, "test") || strings.Contains(lower, "debug")
	for _, q := range b.qualities(s, l, "") {
		p.MaxJobs = least(p.MaxJobs, q.maxJobs)
	}
	for _, most := range b.submitLimits(s, l, "") {
		p.MaxSubmit = least(p.MaxSubmit, most.most)
	}
	noteArchs(&p, l.archs)
	if !l.up {
		p.Notes = append(slices.Clone(p.Notes), "the partition is closed now")
		p.Idle = 0
	}
	return p
}

// standFor lets testing partitions count for those with the same devices.
func standFor(all []offer.Pool) {
	for i := range all {
		if !all[i].Testing || len(all[i].StandsFor) > 0 {
			continue
		}
		for _, other := range all {
			if !other.Testing && other.GPUModel == all[i].GPUModel {
				all[i].StandsFor = append(all[i].StandsFor, other.Name)
			}
		}
	}
}

// modelName is a GPU's name as the field writes it, from a site's "a100".
func modelName(gres string) string { return strings.ToUpper(gres) }

// least is the smaller of two limits, where 0 is none.
func least(a, b int) int {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// qualities are those whose limits bind a job on a partition: the job's own,
// or the default, and the partition's.
func (b *backend) qualities(s *siteFacts, l *livePartition, own string) (list []*liveQoS) {
	for _, name := range []string{b.qosName(s, l, own), l.qos} {
		if q := s.quality(name); q != nil {
			list = append(list, q)
		}
	}
	return list
}

// qosName is the quality of service under which a job would run.
func (b *backend) qosName(s *siteFacts, l *livePartition, own string) string {
	if own != "" {
		return own
	}
	if b.config.QoS != "" {
		return b.config.QoS
	}
	for _, a := range s.assoc {
		if (b.config.Account == "" || a.account == b.config.Account) && (a.partition == "" || a.partition == l.name) && a.defaultQoS != "" {
			return a.defaultQoS
		}
	}
	return ""
}

// longest is how many elements one array may have here; 0 = not known.
func (b *backend) longest() int {
	b.facts.mu.Lock()
	defer b.facts.mu.Unlock()
	s := b.facts.site
	if s == nil || s.maxArray <= 0 {
		return 1000 // slurm.conf(5), MaxArraySize: 1001 by default
	}
	return s.maxArray
}

// bounds are the most that a job of a partition may be given on a retry, and
// what it is billed.
func (b *backend) bounds(pool string, shape offer.Shape) node.Bounds {
	b.facts.mu.Lock()
	defer b.facts.mu.Unlock()
	if s := b.facts.site; s != nil {
		if p := s.partition(pool); p != nil {
			return node.Bounds{Memory: p.memory, Walltime: p.maxTime, Billing: s.billing(p, shape), Requeue: s.requeueExits}
		}
	}
	return node.Bounds{}
}

// gres asks for GPUs; by type only where a partition has several.
func (b *backend) gres(pool string, s offer.Shape) string {
	if s.GPUs <= 0 {
		return ""
	}
	each := perNode(s)
	b.facts.mu.Lock()
	defer b.facts.mu.Unlock()
	if f := b.facts.site; f != nil {
		if p := f.partition(pool); p != nil && len(p.gpus) > 1 {
			for model := range p.gpus {
				if model != "" && slices.ContainsFunc(s.GPU.Models, func(m string) bool { return strings.EqualFold(m, model) }) {
					return "gpu:" + model + ":" + each
				}
			}
		}
	}
	return plainGres(s)
}

// perNode is how many GPUs of a job are on each of its nodes.
func perNode(s offer.Shape) string {
	return strconv.Itoa((s.GPUs + max(s.Nodes, 1) - 1) / max(s.Nodes, 1))
}

// plainGres asks for GPUs of whichever type; "" for none.
func plainGres(s offer.Shape) string {
	if s.GPUs <= 0 {
		return ""
	}
	return "gpu:" + perNode(s)
}
