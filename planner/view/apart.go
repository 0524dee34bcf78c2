package view

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/muster-run/muster/internal/term"
	"github.com/muster-run/muster/internal/units"
	"github.com/muster-run/muster/planner"
	"github.com/muster-run/muster/providers/offer"
)

// optionWidth is how many columns of an option's value a row shows.
const optionWidth = 24

// apart names, for each placement, the difference of its request from those of
// the phase's other starting jobs, "" where there is none: "64GiB of memory".
// Rows of one phase would look alike without it. Devices, their class and the
// walltime are left out: a row has them anyway.
func apart(pp *planner.PhasePlan) []string {
	out := make([]string, len(pp.Placements))
	used := starting(pp)
	facts := make([][]string, len(used))
	for k, at := range used {
		facts[k] = asks(pp.Placements[at].Shape)
	}
	options := make([]map[string]string, len(used))
	for k, at := range used {
		options[k] = optionsOf(pp.Placements[at].Shape.Options)
	}
	names := map[string]bool{}
	for _, o := range options {
		for name := range o {
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		for k, o := range options {
			text := "no " + name
			if value, ok := o[name]; ok {
				text = name + " " + value
			}
			facts[k] = append(facts[k], text)
		}
	}
	for k, at := range used {
		var differs []string
		for i, text := range facts[k] {
			if slices.ContainsFunc(facts, func(other []string) bool { return other[i] != text }) {
				differs = append(differs, text)
			}
		}
		out[at] = term.CleanLine(strings.Join(differs, ", "))
	}
	return out
}

// starting are the placements of jobs that start.
func starting(pp *planner.PhasePlan) (used []int) {
	seen := make([]bool, len(pp.Placements))
	for i, at := range pp.Place {
		if at := int(at); at > 0 && at < len(seen) && !seen[at] && pp.Kind[i].Starts() {
			seen[at] = true
			used = append(used, at)
		}
	}
	return used
}

// asks is the request of a shape beside devices and walltime, each in words
// and always in this order.
func asks(s offer.Shape) []string {
	size := func(n int64, what string) string {
		if n == 0 {
			return "any " + what
		}
		return units.FormatSize(n) + " of " + what
	}
	models := "any model"
	if len(s.GPU.Models) > 0 {
		models = strings.Join(s.GPU.Models, " or ")
	}
	return []string{
		units.Count(max(s.CPUs, 1), "core"), size(s.Memory, "memory"), models, size(s.GPU.Memory, "GPU memory"),
		size(s.Disk, "disk"), units.Count(max(s.Nodes, 1), "node"),
	}
}

// optionsOf are the options of a request by name, each value on one line.
func optionsOf(text string) map[string]string {
	var raw map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &raw) != nil {
		return nil // none
	}
	out := map[string]string{}
	for name, value := range raw {
		if s := string(value); s != "null" {
			out[name] = short(s, optionWidth)
		}
	}
	return out
}

// short keeps the beginning and the end of a text, where such texts differ.
func short(s string, width int) string {
	r := []rune(s)
	if len(r) <= width {
		return s
	}
	half := (width - 1) / 2
	return fmt.Sprintf("%s…%s", string(r[:half]), string(r[len(r)-half:]))
}
