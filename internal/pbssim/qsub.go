package pbssim

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/muster-run/muster/internal/lazyregexp"
)

const qsubLetters = "a:A:c:C:e:fhIj:J:k:l:m:M:N:o:p:q:r:R:S:u:v:VW:XzP:"

const qsubUsage = `usage: qsub [-a date_time] [-A account_string] [-c interval]
	[-C directive_prefix] [-e path] [-f ] [-h ] [-I [-X]] [-j oe|eo] [-J X-Y[:Z]]
	[-k keep] [-l resource_list] [-m mail_options] [-M user_list]
	[-N jobname] [-o path] [-p priority] [-P project] [-q queue] [-r y|n]
	[-R o|e|oe] [-S path] [-u user_list] [-W otherattributes=value...]
	[-v variable_list] [-V ] [-z] [script | -- command [arg1 ...]]
       qsub --version
`

const qalterUsage = `usage: qalter [-a date_time] [-A account_string] [-c interval] [-e path]
	[-h hold_list] [-j y|n] [-k keep] [-l resource_list]
	[-m mail_options] [-M user_list] [-N jobname] [-o path] [-p priority]
	[-R o|e|oe] [-r y|n] [-S path] [-u user_list] [-W dependency_list]
	[-P project_name] job_identifier...
       qalter --version
`

// A submission is a qsub while it is read.
type submission struct {
	*call
	opts   []option
	rest   []string
	dashes bool // a program follows "--"
	script []byte
	job    *job
	wished resources
	depend []dependency
	failed bool
}

func (u *submission) fail(rc int, text string) {
	if !u.failed {
		u.call.fail(rc, text)
		u.failed = true
	}
}

// illegal complains of an option's value, and prints the usage.
func (u *submission) illegal(letter byte) {
	if !u.failed {
		u.fail(2, "illegal -"+string(letter)+" value")
		u.err.WriteString(map[string]string{"qsub": qsubUsage, "qalter": qalterUsage}[u.name])
	}
}

// deny is an error of the server.
func (u *submission) deny(e int, text string) { u.fail(e%256, text) }

func (c *call) qsub() {
	u := &submission{call: c, job: &job{A: attrs{}}}
	u.read()
	for _, step := range []func(){u.attributes, u.environment, u.resources, u.admit} {
		if !u.failed {
			step()
		}
	}
	if u.failed {
		return
	}
	c.enqueue(u)
	silent := false
	for _, o := range u.opts {
		silent = silent || o.letter == 'z'
	}
	if !silent {
		c.out.WriteString(c.full(u.job.id()) + "\n")
	}
}

// read takes the command line and the script apart.
func (u *submission) read() {
	args := u.Args
	for i, a := range args {
		if a == "--" {
			u.dashes = true
			args, u.rest = args[:i], args[i+1:]
			break
		}
	}
	opts, rest, bad := getopt(args, qsubLetters)
	for _, b := range bad {
		u.call.fail(2, b)
	}
	if bad != nil {
		u.err.WriteString(qsubUsage)
		u.failed = true
		return
	}
	u.opts = opts
	if _, interactive := last(opts, 'I'); interactive {
		fmt.Fprintf(&u.err, "qsub:\tstandard input and output must be a terminal for\n\tinteractive job submission\n")
		u.rc, u.failed = 1, true
		return
	}
	switch {
	case u.dashes && len(u.rest) == 0:
		u.fail(2, "illegal option -- -")
	case u.dashes:
	case len(rest) > 1:
		u.err.WriteString(qsubUsage)
		u.rc, u.failed = 2, true
	case len(rest) > 0:
		text, err := os.ReadFile(u.abs(rest[0]))
		if err != nil {
			u.fail(1, "script file:: No such file or directory")
			return
		}
		u.script = text
		u.rest = rest
	default:
		u.script = u.Stdin
	}
	u.directives()
}

func (u *submission) abs(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(u.Cwd, path)
}

// directives puts the options of the script before those of the command line,
// which count for more.
func (u *submission) directives() {
	prefix := "#PBS"
	if p, ok := last(u.opts, 'C'); ok {
		prefix = p
	}
	var found []option
	for i, line := range strings.Split(string(u.script), "\n") {
		trimmed := strings.TrimSpace(line)
		switch rest, ok := strings.CutPrefix(trimmed, prefix); {
		case ok && prefix != "":
			var words []string
			for _, w := range splitQuoted(strings.TrimSpace(rest), ' ') {
				if w != "" {
					words = append(words, unquote(w))
				}
			}
			opts, _, bad := getopt(words, qsubLetters)
			if bad != nil {
				u.fail(2, "directive error: "+strings.TrimSpace(rest))
			}
			found = append(found, opts...)
		case trimmed == "" || strings.HasPrefix(trimmed, "#") || strings.HasPrefix(trimmed, ":") && i == 0:
		default:
			u.opts = append(found, u.opts...)
			return
		}
	}
	u.opts = append(found, u.opts...)
}

// unquote drops quotes that enclose a word, or a value in it.
func unquote(w string) string {
	if len(w) > 1 && (w[0] == '"' || w[0] == '\'') && w[len(w)-1] == w[0] {
		return w[1 : len(w)-1]
	}
	return w
}

var nameForm = lazyregexp.New(`^[A-Za-z0-9+_.-][A-Za-z0-9+_.-]*$`)

// attributes sets the attributes of the job from the options.
func (u *submission) attributes() {
	j, a := u.job, u.job.A
	for k, v := range map[string]string{
		"Checkpoint": "u", "Hold_Types": "n", "Join_Path": "n", "Keep_Files": "n", "Mail_Points": "a", "Priority": "0", "Rerunable": "True",
		"project": "_pbs_project_default", "Submit_Host": u.host, "server": u.host, "Job_Owner": u.User + "@" + u.host,
		"Submit_arguments": strings.Join(u.Args, " "),
	} {
		a[k] = v
	}
	a["Job_Name"] = "STDIN"
	switch {
	case u.dashes:
		a["Job_Name"] = filepath.Base(u.rest[0])
		j.Exec = u.rest
		a["executable"] = "<jsdl-hpcpa:Executable>" + u.rest[0] + "</jsdl-hpcpa:Executable>"
		for _, arg := range u.rest[1:] {
			a["argument_list"] += "<jsdl-hpcpa:Argument>" + arg + "</jsdl-hpcpa:Argument>"
		}
	case len(u.rest) > 0:
		a["Job_Name"] = filepath.Base(u.rest[0])
		j.Script = u.script
	default:
		j.Script = u.script
	}
	for _, o := range u.opts {
		if u.failed {
			return
		}
		u.option(o)
	}
	if j.A["max_run_subjobs"] != "" && !j.Array {
		u.fail(127, "Attribute has to be set on an array job")
	}
}

func (u *submission) option(o option) {
	a := u.job.A
	switch v := o.value; o.letter {
	case 'N':
		switch {
		case len(v) > 230:
			u.fail(2, "Job name is too long ")
		case !nameForm.MatchString(v):
			u.illegal('N')
		}
		a["Job_Name"] = v
	case 'J':
		u.array(v)
	case 'h':
		a["Hold_Types"] = "u"
	case 'a':
		at, ok := dateTime(v, u.now(), u.zone())
		if !ok {
			u.illegal('a')
		}
		a["Execution_Time"] = strconv.FormatInt(at.Unix(), 10)
	case 'W':
		u.others(v)
	case 'r':
		if v != "y" && v != "n" {
			u.illegal('r')
		}
		a["Rerunable"] = map[bool]string{true: "True", false: "False"}[v == "y"]
	case 'S':
		a["Shell_Path_List"], u.job.Shell = v, v
	case 'o', 'e':
		// Seen on OpenPBS 23.06: a path of other characters than printable ASCII is refused.
		if strings.ContainsFunc(v, func(c rune) bool { return c < ' ' || c > '~' }) {
			u.illegal(o.letter)
		}
		a[map[byte]string{'o': "Output_Path", 'e': "Error_Path"}[o.letter]] = v
	default:
		names := map[byte]string{'A': "Account_Name", 'c': "Checkpoint", 'j': "Join_Path", 'k': "Keep_Files", 'm': "Mail_Points", 'M': "Mail_Users", 'p': "Priority", 'P': "project", 'q': "queue"}
		if name := names[o.letter]; name != "" {
			a[name] = v
		}
	}
}

// array reads "0-9", "0-18:2" and "0-9%3".
func (u *submission) array(v string) {
	span, limit, capped := strings.Cut(v, "%")
	list, ok := indices(span)
	n, err := strconv.Atoi(limit)
	if !ok || len(list) < 2 || !strings.Contains(span, "-") || capped && (err != nil || n < 1) {
		u.illegal('J')
		return
	}
	if most := u.server.num("max_array_size"); most > 0 && len(list) > most {
		u.fail(3, "Array job exceeds server or queue size limit")
		return
	}
	j := u.job
	j.Array = true
	j.A["array"], j.A["array_indices_submitted"] = "True", span
	if capped {
		j.A["max_run_subjobs"] = limit
	}
	for _, i := range list {
		j.Tasks = append(j.Tasks, &task{Index: i, A: attrs{"job_state": "Q", "substate": "10"}})
	}
}

// others are the attributes of -W.
func (u *submission) others(v string) {
	list, ok := pairs(v)
	if !ok {
		u.illegal('W')
		return
	}
	for _, p := range list {
		switch name, value := p[0], p[1]; name {
		case "depend":
			deps, ok := dependencies(value)
			if !ok {
				u.illegal('W')
			}
			u.depend = append(u.depend, deps...)
		case "max_run_subjobs":
			if n, err := strconv.Atoi(value); err != nil || n < 1 {
				u.deny(badValue, errorText[badValue])
			}
			u.job.A[name] = value
		case "umask", "group_list", "sandbox", "stagein", "stageout", "run_count", "block":
			u.job.A[name] = value
		default:
			u.deny(15002, "Undefined Attribute "+name)
		}
	}
}

// zone is the zone of the person who asks.
func (c *call) zone() *time.Location {
	if name := c.env("TZ"); name != "" {
		if z, err := time.LoadLocation(strings.TrimPrefix(name, ":")); err == nil {
			return z
		}
	}
	return time.Local
}

// dateTime reads [[CC]YY]MMDDhhmm[.SS], or hhmm of today or tomorrow.
func dateTime(text string, now time.Time, zone *time.Location) (time.Time, bool) {
	main, sec, _ := strings.Cut(text, ".")
	layouts := map[int]string{12: "200601021504", 10: "0601021504", 8: "01021504", 4: "1504"}
	at, err := time.ParseInLocation(layouts[len(main)], main, zone)
	if err != nil {
		return at, false
	}
	now = now.In(zone)
	switch len(main) {
	case 8:
		at = at.AddDate(now.Year()-at.Year(), 0, 0)
	case 4:
		at = time.Date(now.Year(), now.Month(), now.Day(), at.Hour(), at.Minute(), 0, 0, zone)
		if at.Before(now) {
			at = at.AddDate(0, 0, 1)
		}
	}
	n, _ := strconv.Atoi(sec)
	return at.Add(time.Duration(n) * time.Second), true
}

// environment is Variable_List and what the job sees of it.
func (u *submission) environment() {
	j := u.job
	for _, p := range [][2]string{
		{"HOME", "HOME"}, {"LANG", "LANG"}, {"LOGNAME", ""}, {"PATH", "PATH"}, {"MAIL", "MAIL"}, {"SHELL", "SHELL"}, {"TZ", "TZ"},
	} {
		v := u.env(p[1])
		if p[0] == "LOGNAME" {
			v = u.User
		}
		if v != "" {
			j.Vars = append(j.Vars, "PBS_O_"+p[0]+"="+v)
		}
	}
	j.Vars = append(j.Vars, "PBS_O_INTERACTIVE_AUTH_METHOD=resvport", "PBS_O_INTERACTIVE_ENCRYPT_METHOD=", "PBS_O_WORKDIR="+u.Cwd, "PBS_O_SYSTEM=Linux")
	for _, o := range u.opts {
		switch o.letter {
		case 'V':
			for _, v := range u.Env {
				if !strings.HasPrefix(v, "PBSSIM_") && !strings.HasPrefix(v, "_=") {
					u.variable(v, v)
				}
			}
		case 'v':
			u.variables(o.value)
		}
	}
}

// variables are those of -v. A quote that is not closed, or the name of a
// variable that is not set, fails the submission.
func (u *submission) variables(list string) {
	if strings.Count(list, "'")%2 == 1 {
		u.fail(1, "cannot send environment with the job")
		return
	}
	for _, part := range splitQuoted(list, ',') {
		name, _, given := strings.Cut(part, "=")
		if !given {
			value, set := "", false
			for _, v := range u.Env {
				if rest, ok := strings.CutPrefix(v, name+"="); ok {
					value, set = rest, true
				}
			}
			if !set {
				u.fail(1, "cannot send environment with the job")
				return
			}
			part = name + "=" + value
		}
		plain := strings.NewReplacer(`"`, "", "'", "").Replace(part)
		u.variable(strings.ReplaceAll(plain, `\`, `\\\\`), strings.ReplaceAll(plain, `\`, `\\`))
	}
}

func (u *submission) variable(shown, real string) {
	u.job.Vars = append(u.job.Vars, shown)
	u.job.Env = append(u.job.Env, real)
}

// enqueue gives the job its number and its files, and its place in the queue.
func (c *call) enqueue(u *submission) {
	j, now := u.job, strconv.FormatInt(c.now().Unix(), 10)
	j.Seq = c.next
	a := j.A
	for _, k := range []string{"ctime", "mtime", "qtime"} {
		a[k] = now
	}
	for name, letter := range map[string]string{"Output_Path": ".o", "Error_Path": ".e"} {
		p := a[name]
		if p == "" {
			p = a["Job_Name"] + letter + strconv.Itoa(j.Seq)
			if j.Array {
				p += ".^array_index^"
			}
		}
		if host, rest, ok := strings.Cut(p, ":"); ok && !strings.Contains(host, "/") {
			p = rest
		}
		slash := strings.HasSuffix(p, "/")
		p = u.abs(p)
		if slash && !strings.HasSuffix(p, "/") {
			p += "/"
		}
		a[name] = c.host + ":" + p
	}
	j.Vars = append(j.Vars, "PBS_O_QUEUE="+u.wished.asked, "PBS_O_HOST="+c.host)
	if !j.Array {
		j.Tasks = []*task{{Index: -1, A: attrs{"job_state": "Q", "substate": "10"}}}
	} else {
		a["job_state"], a["substate"] = "Q", "10"
	}
	c.add(j)
	j.refresh()
	c.bind(j, u.depend)
	c.settle(j)
	c.keep(j)
}
