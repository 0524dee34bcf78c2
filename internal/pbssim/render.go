package pbssim

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// jobOrder is the order in which qstat shows a job's attributes.
var jobOrder = []string{
	"Job_Name", "Job_Owner", "resources_used", "job_state", "queue", "server", "Account_Name", "Checkpoint", "ctime", "depend", "Error_Path",
	"exec_host", "exec_vnode", "Execution_Time", "Hold_Types", "Join_Path", "Keep_Files", "Mail_Points", "Mail_Users", "mtime", "Output_Path", "Priority", "qtime",
	"Rerunable", "Resource_List", "stime", "obittime", "session_id", "Shell_Path_List", "jobdir", "substate", "Variable_List", "umask", "comment", "etime", "run_count",
	"Stageout_status", "Exit_status", "Submit_arguments", "executable", "argument_list", "array", "array_id", "array_index", "array_state_count",
	"array_indices_submitted", "array_indices_remaining", "estimated", "history_timestamp", "project", "Submit_Host", "max_run_subjobs",
}

// timeKeys are shown as a date, in the zone of who asks.
var timeKeys = []string{"ctime", "mtime", "qtime", "etime", "stime", "obittime", "Execution_Time", "estimated.start_time"}

// A field is an attribute, or a group of them, to print.
type field struct {
	name  string
	value string
	group []field // of a group, then named without its prefix
	list  bool    // Variable_List
}

// fields are attributes in an order; those that it does not name are left out.
func fields(a attrs, vars []string, order []string, zone *time.Location) (out []field) {
	names := slices.Sorted(maps.Keys(a))
	value := func(name string) string {
		if slices.Contains(timeKeys, name) {
			return date(a[name], zone)
		}
		return a[name]
	}
	for _, name := range order {
		if _, ok := a[name]; ok {
			out = append(out, field{name: name, value: value(name)})
			continue
		}
		f := field{name: name}
		if name == "Variable_List" {
			f.list = true
			for _, v := range vars {
				k, v, _ := strings.Cut(v, "=")
				f.group = append(f.group, field{name: k, value: v})
			}
		}
		for _, full := range names {
			if k, ok := strings.CutPrefix(full, name+"."); ok {
				f.group = append(f.group, field{name: k, value: value(full)})
			}
		}
		if f.group != nil {
			out = append(out, f)
		}
	}
	return out
}

// date is a time as ctime(3) prints it; text that is no number is printed unchanged.
func date(text string, zone *time.Location) string {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return text
	}
	return time.Unix(n, 0).In(zone).Format(time.ANSIC)
}

// An object is one entry of an answer.
type object struct {
	name   string
	fields []field
}

// asJSON is an answer of qstat or pbsnodes.
func (s *Server) asJSON(key string, list []object) string {
	var b strings.Builder
	fmt.Fprintf(&b, "{\n\t\"timestamp\":\t%d,\n\t\"pbs_version\":\t%s,\n\t\"pbs_server\":\t%s", s.now().Unix(), quote(s.version), quote(s.host))
	if len(list) > 0 {
		fmt.Fprintf(&b, ",\n\t%s:\t{\n", quote(key))
		for i, o := range list {
			fmt.Fprintf(&b, "\t\t%s:\t{\n", quote(o.name))
			writeJSON(&b, o.fields, 3)
			b.WriteString("\n\t\t}")
			if i < len(list)-1 {
				b.WriteString(",")
			}
			b.WriteString("\n")
		}
		b.WriteString("\t}")
	}
	b.WriteString("\n}\n")
	return b.String()
}

func writeJSON(b *strings.Builder, list []field, depth int) {
	tabs := strings.Repeat("\t", depth)
	for i, f := range list {
		if i > 0 {
			b.WriteString(",\n")
		}
		fmt.Fprintf(b, "%s%s:\t", tabs, quote(f.name))
		switch {
		case f.name == "jobs":
			b.WriteString(f.value)
		case f.group == nil && f.name == "Job_Name":
			b.WriteString(quote(f.value))
		case f.group == nil:
			b.WriteString(retype(f.value))
		default:
			b.WriteString("{\n")
			writeJSON(b, f.group, depth+1)
			if len(f.group) > 0 {
				b.WriteString("\n")
			}
			b.WriteString(tabs + "}")
		}
	}
}

// retype is a value in JSON as OpenPBS writes it: a text that looks like a
// number becomes one, and one that is too large null.
func retype(v string) string {
	switch {
	case v == "true" || v == "false" || v == "null":
		return v
	case v == "" || strings.Trim(v[:1], "-0123456789") != "" || strings.Trim(v, "0123456789+-eE.") != "":
		return quote(v)
	}
	f, err := strconv.ParseFloat(v, 64)
	switch {
	case math.IsInf(f, 0):
		return "null"
	case err != nil:
		return quote(v)
	case f == math.Trunc(f) && math.Abs(f) < 1e15:
		return strconv.FormatInt(int64(f), 10)
	}
	return strconv.FormatFloat(f, 'g', 15, 64)
}

// quote is a JSON string; other than encoding/json it leaves all of UTF-8.
func quote(v string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(v) {
		switch c := v[i]; c {
		case '"', '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case '\n':
			b.WriteString(`\n`)
		case '\t':
			b.WriteString(`\t`)
		case '\r':
			b.WriteString(`\r`)
		case '\b':
			b.WriteString(`\b`)
		case '\f':
			b.WriteString(`\f`)
		default:
			if c < 0x20 {
				fmt.Fprintf(&b, `\u%04x`, c)
			} else {
				b.WriteByte(c)
			}
		}
	}
	b.WriteByte('"')
	return b.String()
}

// flat are fields with groups resolved: "Resource_List.ncpus".
func flat(list []field) (out []field) {
	for _, f := range list {
		switch {
		case f.list:
			parts := make([]string, len(f.group))
			for i, v := range f.group {
				parts[i] = v.name + "=" + strings.ReplaceAll(v.value, ",", `\,`)
			}
			out = append(out, field{name: f.name, value: strings.Join(parts, ",")})
		case f.group == nil:
			out = append(out, f)
		default:
			for _, g := range f.group {
				out = append(out, field{name: f.name + "." + g.name, value: g.value})
			}
		}
	}
	return out
}

// asDSV is one job on a line.
func asDSV(head string, o object, sep string) string {
	parts := []string{head + o.name}
	escape := strings.NewReplacer(`\`, `\\`, sep, `\`+sep)
	for _, f := range flat(o.fields) {
		parts = append(parts, f.name+"="+dsvValue(f, escape))
	}
	return strings.Join(parts, sep) + "\n"
}

// dsvValue escapes a value; the commas of Variable_List are already.
func dsvValue(f field, escape *strings.Replacer) string {
	const comma = "\x00"
	v := f.value
	if f.name == "Variable_List" {
		v = strings.ReplaceAll(v, `\,`, comma)
	}
	return strings.ReplaceAll(escape.Replace(v), comma, `\,`)
}

// asText is qstat -f: lines of 79 columns, unless they are to be wide.
func asText(head string, o object, wide bool) string {
	var b strings.Builder
	b.WriteString(head + o.name + "\n")
	for _, f := range flat(o.fields) {
		line := "    " + f.name + " = "
		b.WriteString(line)
		if wide {
			b.WriteString(f.value)
		} else {
			wrap(&b, f.value, len(line))
		}
		b.WriteString("\n")
	}
	b.WriteString("\n")
	return b.String()
}

// wrap breaks a value behind a comma where it can, and anywhere where it must. As
// OpenPBS it counts the tab only in lines that it breaks anywhere.
func wrap(b *strings.Builder, v string, column int) {
	const limit = 79
	first := true
	for part := range strings.SplitAfterSeq(v, ",") {
		if !first && column+len(part) > limit {
			b.WriteString("\n\t")
			column = 0
			if len(part) > limit {
				column = 9
			}
		}
		for len(part) > 0 {
			n := min(len(part), limit-column)
			b.WriteString(part[:n])
			column += n
			if part = part[n:]; part != "" {
				b.WriteString("\n\t")
				column = 9
			}
		}
		first = false
	}
}
