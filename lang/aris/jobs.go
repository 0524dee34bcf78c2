package aris

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/muster-run/muster/internal/lazyregexp"
)

// A listed job is one of jobs, its command and paths written out.
type listed struct {
	job     *job
	key     string
	command command
	outputs []output
	args    map[string]string
}

// like groups jobs that one template can hold: commands of one form and
// outputs of the same kinds.
func (l *listed) like() string {
	s := fmt.Sprint(len(l.command.argv), l.command.shell.refs())
	for _, o := range l.outputs {
		s += " " + o.kind
	}
	return s
}

// fromJobs makes phases of a list of jobs, one for each form they have. A list is mostly a
// grid in disguise: the common part of all commands becomes the template, each difference an
// attribute of the axis job.
func (c *converter) fromJobs(p *phase) (out []*target) {
	var groups []string
	byForm := map[string][]*listed{}
	seen := map[string]hcl.Range{}
	for i, j := range p.jobs {
		l := c.listed(p, j, i)
		if first, ok := seen[l.key]; ok {
			c.r.ds.Errorat(j.at, "Duplicate id", "%q is the id of the job in line %d already; the queue would drop this one silently. Give it another id.", clip(l.key), first.Start.Line)
			continue
		}
		seen[l.key] = j.at
		form := l.like()
		if byForm[form] == nil {
			groups = append(groups, form)
		}
		byForm[form] = append(byForm[form], l)
	}
	if c.r.ds.HasErrors() {
		return nil // a job may have no command
	}
	for i, form := range groups {
		t := &target{src: p, id: p.id}
		if i > 0 {
			t.id = c.freeID(p.id, i+1)
			c.r.note("the jobs of %s have outputs or commands of several forms, so %s is a phase of its own", p.id, t.id)
		}
		c.fill(t, byForm[form])
		out = append(out, t)
	}
	return out
}

// freeID is a name that no phase of the manifest has.
func (c *converter) freeID(base string, n int) string {
	for {
		id := fmt.Sprintf("%s_%d", base, n)
		if !slices.ContainsFunc(c.m.phases, func(p *phase) bool { return p.id == id }) {
			return id
		}
		n++
	}
}

func (c *converter) listed(p *phase, j *job, i int) *listed {
	l := &listed{job: j, args: map[string]string{}}
	if j.id != nil {
		l.key = strings.TrimSpace(j.id.text)
	}
	none := func(string) (string, bool) { return "", false }
	what := fmt.Sprintf("job %d of phase %s", i+1, p.id)
	if l.key != "" {
		what = fmt.Sprintf("the job %q", clip(l.key))
		if bad := strings.Join(unsafeID.FindAllString(l.key, -1), " "); bad != "" {
			c.unsafeID(j.id, bad)
		}
		_, unknown := parseText(l.key, none)
		c.known(j.id, "the id", unknown, nil)
	}
	cmp := &composer{r: c.r, job: j, what: what, lookup: none, quoteIt: func(string) bool { return false }}
	var missing bool
	l.command, missing = cmp.compose(c.m.defaultCmd)
	c.needVariable(j, missing)
	for name, t := range cmp.args {
		l.args[name] = t.with(nil)
	}
	if l.key == "" {
		l.key = missingID(j, i)
		c.r.warn(j.at, "A job without an id", "It is called %s here.", l.key)
	}
	for _, o := range j.outputs {
		_, unknown := parseText(o.text, none)
		c.known(o, "the output", unknown, nil)
		if out, ok := c.output(o.at, literal(o.text)); ok {
			l.outputs = append(l.outputs, out)
		}
	}
	return l
}

// missingID makes an id of a job's args, or of its place in the list.
func missingID(j *job, i int) string {
	var b strings.Builder
	if j.args != nil {
		for _, m := range j.args.keys {
			if m.val.kind == scalar && !m.val.null() {
				b.WriteString("-" + m.key.text + m.val.text)
			}
		}
	}
	if s := unsafeID.ReplaceAllString(strings.TrimPrefix(b.String(), "-"), "_"); s != "" && len(s) < 100 {
		return s
	}
	return fmt.Sprintf("job%d", i+1)
}

// fill makes one template of several jobs.
func (c *converter) fill(t *target, jobs []*listed) {
	first := jobs[0]
	for _, j := range jobs {
		if j.job.done {
			t.done = append(t.done, j.key)
		}
	}
	if len(jobs) == 1 {
		t.cells = []map[string]string{{}}
		t.command, t.name = first.command, literal(unsafeID.ReplaceAllString(first.key, "_"))
		for _, o := range first.outputs {
			t.addOutput(o)
		}
		t.rows = []row{{key: first.key, values: argValues(first)}}
		return
	}
	for _, j := range jobs {
		t.rows = append(t.rows, row{key: j.key, values: map[string]value{}})
		t.cells = append(t.cells, map[string]string{jobRef + "key": j.key})
	}
	texts := func(get func(*listed) text) []text {
		out := make([]text, len(jobs))
		for i, j := range jobs {
			out[i] = get(j)
		}
		return out
	}
	if first.command.argv == nil {
		t.command.shell = t.template("command", true, texts(func(j *listed) text { return j.command.shell }))
	}
	for k := range first.command.argv {
		t.command.argv = append(t.command.argv, t.template("word", false, texts(func(j *listed) text { return j.command.argv[k] })))
	}
	for k, o := range first.outputs {
		o.path = t.template("output", false, texts(func(j *listed) text { return j.outputs[k].path }))
		t.addOutput(o)
	}
	t.argColumns(jobs)
	t.labelRows()
}

func argValues(j *listed) map[string]value {
	out := map[string]value{}
	for name, s := range j.args {
		out[name] = number(s)
	}
	return out
}

// argColumns keeps args that all jobs have for preconditions that name them.
func (t *target) argColumns(jobs []*listed) {
	for i, j := range jobs {
		for name, v := range argValues(j) {
			if _, taken := t.rows[i].values[argRef+name]; !taken {
				t.rows[i].values[argRef+name] = v
			}
		}
	}
}

const jobRef = "cell.job."

// words are the words of a command and the blanks between them.
var words = lazyregexp.New(`\s+|\S+`)

// template is the common part of several texts, with references to attributes
// of the job axis where they differ.
func (t *target) template(hint string, byWord bool, texts []text) text {
	if slices.ContainsFunc(texts, func(x text) bool { return len(x.refs()) > 0 }) {
		// The command is in a variable; the rest is literal.
		head, tails := text{texts[0][0]}, make([]text, len(texts))
		for i, x := range texts {
			tails[i] = x[1:]
		}
		return join(head, t.template(hint, byWord, tails))
	}
	lines := make([]string, len(texts))
	for i, x := range texts {
		lines[i] = x.with(nil)
	}
	if x, ok := t.common(lines); ok {
		return x
	}
	if byWord {
		if x, ok := t.byWord(lines); ok {
			return x
		}
	}
	return text{{ref: t.column(hint, lines)}}
}

// common is one text when all are equal, or differ in the job's id alone.
func (t *target) common(lines []string) (text, bool) {
	const mark = "\x00"
	same, keyed := true, len(t.rows[0].key) > 2
	first := strings.ReplaceAll(lines[0], t.rows[0].key, mark)
	for i, s := range lines {
		same = same && s == lines[0]
		keyed = keyed && len(t.rows[i].key) > 2 && strings.ReplaceAll(s, t.rows[i].key, mark) == first
	}
	if same {
		return literal(lines[0]), true
	}
	if !keyed {
		return nil, false
	}
	var out text
	for i, part := range strings.Split(first, mark) {
		if i > 0 {
			out = append(out, piece{ref: jobRef + "key"})
		}
		out = append(out, literal(part)...)
	}
	return out, true
}

// mostAttrs is how many words of a command may differ before the commands
// count as different ones.
const mostAttrs = 16

// byWord compares commands word by word.
func (t *target) byWord(lines []string) (text, bool) {
	split := make([][]string, len(lines))
	for i, s := range lines {
		if split[i] = words.FindAllString(s, -1); len(split[i]) != len(split[0]) {
			return nil, false
		}
	}
	type slot struct {
		fixed  text
		prefix string
		hint   string
		values []string
	}
	var slots []slot
	differ := 0
	for k := range split[0] {
		at := make([]string, len(lines))
		for i := range split {
			at[i] = split[i][k]
		}
		if x, ok := t.common(at); ok {
			slots = append(slots, slot{fixed: x})
			continue
		}
		if differ++; differ > mostAttrs || strings.TrimSpace(at[0]) == "" {
			return nil, false
		}
		s := slot{hint: "arg", values: at}
		if s.prefix = flagPrefix(at); s.prefix != "" {
			s.hint = strings.Trim(s.prefix, "-=")
			for i := range at {
				at[i] = at[i][len(s.prefix):]
			}
		} else if k >= 2 && strings.HasPrefix(split[0][k-2], "-") {
			s.hint = strings.TrimLeft(split[0][k-2], "-")
		}
		slots = append(slots, s)
	}
	var out text
	for _, s := range slots {
		if s.values == nil {
			out = join(out, s.fixed)
		} else {
			out = join(out, literal(s.prefix), text{{ref: t.column(s.hint, s.values)}})
		}
	}
	return out, true
}

// flagPrefix is --seed= when all words begin so.
func flagPrefix(ws []string) string {
	name, _, ok := strings.Cut(ws[0], "=")
	if !ok {
		return ""
	}
	for _, w := range ws {
		if !strings.HasPrefix(w, name+"=") {
			return ""
		}
	}
	return name + "="
}

// column is the reference to an attribute with these values, a new one
// unless there is one with the same values.
func (t *target) column(hint string, values []string) string {
	typed := make([]value, len(values))
	for i, s := range values {
		typed[i] = number(s)
	}
	if !allNumbers(typed) {
		for i := range typed {
			typed[i].number = false
		}
	}
	for _, name := range t.attrs {
		if t.sameColumn(name, values) {
			return jobRef + name
		}
	}
	name := strings.Trim(identifier(hint), "_-")
	switch {
	case name == "" || name == "key":
		name = "arg"
	case name[0] >= '0' && name[0] <= '9':
		name = "arg_" + name
	}
	base := name
	for n := 2; slices.Contains(t.attrs, name); n++ {
		name = fmt.Sprintf("%s%d", base, n)
	}
	t.attrs = append(t.attrs, name)
	for i := range t.rows {
		t.rows[i].values[name] = typed[i]
		t.cells[i][jobRef+name] = values[i]
	}
	return jobRef + name
}

func (t *target) sameColumn(name string, values []string) bool {
	for i := range t.rows {
		if t.rows[i].values[name].text != values[i] {
			return false
		}
	}
	return true
}

// labelRows names the jobs by their ids, or by the rest of them.
func (t *target) labelRows() {
	clean := make([]string, len(t.rows))
	taken := map[string]bool{}
	all := true
	for i, r := range t.rows {
		s := unsafeID.ReplaceAllString(r.key, "_")
		all = all && s == r.key
		base := s
		for n := 2; taken[s]; n++ {
			s = fmt.Sprintf("%s_%d", base, n)
		}
		taken[s] = true
		clean[i] = s
	}
	if all {
		t.name = text{{ref: jobRef + "key"}}
	} else {
		t.name = text{{ref: t.column("label", clean)}}
	}
}
