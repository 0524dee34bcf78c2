// Package addr formats and parses addresses, the identity of a job as text.
// Every printed address parses to the same job, whatever the axis values
// contain.
package addr

import (
	"fmt"
	"sort"
	"strings"
)

// A Job is one job of a campaign.
type Job struct {
	Phase string
	Key   string // "N=384,seed=42", axes sorted by name; "" without a grid
}

// String is phase.NAME["k=v,…"], or phase.NAME without a grid. It is also a
// valid HCL expression for the same address.
func (j Job) String() string { return string(j.Append(nil)) }

// Append appends the address.
func (j Job) Append(buf []byte) []byte {
	buf = append(buf, "phase."...)
	buf = append(buf, j.Phase...)
	if j.Key == "" {
		return buf
	}
	buf = append(buf, '[', '"')
	for i := 0; i < len(j.Key); i++ {
		if c := j.Key[i]; c == '"' || c == '\\' {
			buf = append(buf, '\\')
		}
		buf = append(buf, j.Key[i])
	}
	return append(buf, '"', ']')
}

// Split takes an address that was printed here apart. The common case
// allocates nothing.
func Split(address string) (phase, key string, ok bool) {
	rest, ok := strings.CutPrefix(address, "phase.")
	if !ok {
		return "", "", false
	}
	at := strings.IndexByte(rest, '[')
	if at < 0 {
		return rest, "", true
	}
	if strings.IndexByte(rest, '\\') < 0 && strings.HasSuffix(rest, `"]`) && len(rest) >= at+4 {
		return rest[:at], rest[at+2 : len(rest)-2], true
	}
	job, err := Parse(address)
	return job.Phase, job.Key, err == nil
}

// Parse reads a full address. The key's axes may come in any order; the
// result has them sorted and quoted as the language says.
func Parse(s string) (Job, error) {
	rest, ok := strings.CutPrefix(s, "phase.")
	if !ok {
		return Job{}, fmt.Errorf("%q is not a job's address: write phase.NAME or phase.NAME[\"axis=value,…\"]", clip(s))
	}
	name, sub, has := strings.Cut(rest, "[")
	if !ValidName(name) {
		return Job{}, fmt.Errorf("%q is not a phase's name: letters, digits, _ and -, not beginning with a digit", clip(name))
	}
	if !has {
		return Job{Phase: name}, nil
	}
	quoted, ok := strings.CutSuffix(sub, "]")
	if !ok || len(quoted) < 2 || quoted[0] != '"' {
		return Job{}, fmt.Errorf("the key in %q must be inside [\"…\"]", clip(s))
	}
	key, n, err := unquote(quoted)
	if err != nil {
		return Job{}, fmt.Errorf("the key in %q: %w", clip(s), err)
	}
	if n != len(quoted) {
		return Job{}, fmt.Errorf("the key in %q continues after its closing quote", clip(s))
	}
	key, err = canonicalKey(key)
	if err != nil {
		return Job{}, err
	}
	return Job{Phase: name, Key: key}, nil
}

func canonicalKey(key string) (string, error) {
	pairs, err := ParseKey(key)
	if err != nil {
		return "", err
	}
	if len(pairs) == 0 {
		return "", fmt.Errorf("the key is empty: leave the brackets out for a phase without a grid")
	}
	return JoinKey(pairs), nil
}

// JoinKey is the canonical key of a set of pairs.
func JoinKey(pairs []Pair) string {
	pairs = append([]Pair(nil), pairs...)
	sort.SliceStable(pairs, func(a, b int) bool { return pairs[a].Axis < pairs[b].Axis })
	var buf []byte
	for i, p := range pairs {
		if i > 0 {
			buf = append(buf, ',')
		}
		buf = append(append(buf, p.Axis...), '=')
		buf = AppendKeyText(buf, p.Text)
	}
	return string(buf)
}

// clip shortens foreign text for a message.
func clip(s string) string {
	const most = 80 // characters shown of a foreign text
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return string(r[:most]) + "…"
}
