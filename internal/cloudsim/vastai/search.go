package vastai

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-run/muster/internal/cloudsim"
)

// searchControls are the fields of a search that filter nothing.
var searchControls = []string{"type", "order", "limit", "allocated_storage", "disable_bundling"}

// standard filters count where a search has none of that field.
var standard = map[string]filter{"verified": {"eq": true}, "rentable": {"eq": true}, "rented": {"eq": false}}

// leastDisk is the least size of a disk, and the size in prices without
// allocated_storage, GB.
const leastDisk = 8

func (v *Vast) search(c *cloudsim.Call) cloudsim.Answer {
	bad := func(text string) cloudsim.Answer {
		return cloudsim.JSON(http.StatusBadRequest, map[string]any{"error": "invalid_request", "msg": text})
	}
	var q map[string]json.RawMessage
	if json.Unmarshal(c.Body, &q) != nil || q == nil {
		return bad("Invalid json body")
	}
	typ, gb, limit, order, err := controls(q)
	if err != nil {
		return bad(err.Error())
	}
	filters := map[string]filter{}
	for name, flt := range standard {
		filters[name] = flt
	}
	for name, raw := range q {
		if slices.Contains(searchControls, name) {
			continue
		}
		var flt filter
		if json.Unmarshal(raw, &flt) != nil || flt == nil {
			return bad("Error in query: " + name + " must be an object of operators")
		}
		filters[name] = flt
	}
	var rows []map[string]any
	for _, m := range v.machines {
		if m.offer != nil {
			rows = append(rows, v.row(m.offer, typ == "bid", gb))
		}
	}
	rows, err = sift(rows, filters, func(name string) bool { return name == "country_code" || len(rows) == 0 || has(rows[0], name) })
	if err != nil {
		return bad(err.Error())
	}
	slices.SortStableFunc(rows, func(a, b map[string]any) int {
		for _, o := range order {
			if n := compare(a[o.col], b[o.col]); n != 0 {
				return n * o.sign
			}
		}
		return 0
	})
	return cloudsim.JSON(http.StatusOK, map[string]any{"offers": append([]map[string]any{}, rows[:min(limit, len(rows))]...)})
}

type direction struct {
	col  string
	sign int
}

func controls(q map[string]json.RawMessage) (typ string, gb float64, limit int, order []direction, err error) {
	typ, gb, limit = "ondemand", leastDisk, 64
	read := func(name string, into any) bool {
		if err == nil && q[name] != nil && json.Unmarshal(q[name], into) != nil {
			err = wrong("in query: %s is not of its type", name)
		}
		return err == nil && q[name] != nil
	}
	read("type", &typ)
	switch typ {
	case "on-demand":
		typ = "ondemand"
	case "interruptible":
		typ = "bid"
	case "ondemand", "bid", "reserved":
	default:
		return typ, gb, limit, nil, wrong("in query: type %s", typ)
	}
	read("allocated_storage", &gb)
	if read("limit", &limit) && limit < 1 {
		limit = 64
	}
	var pairs [][]string
	if !read("order", &pairs) {
		pairs = [][]string{{"score", "desc"}}
	}
	for _, p := range pairs {
		if len(p) != 2 {
			return typ, gb, limit, nil, wrong("in query: order wants [field, direction]")
		}
		d := direction{p[0], 1}
		if p[1] == "desc" {
			d.sign = -1
		}
		order = append(order, d)
	}
	return typ, max(gb, 0), limit, order, err
}

// A filter is the condition on a field, by operator.
type filter map[string]any

// sift keeps the rows that pass every filter.
func sift(rows []map[string]any, filters map[string]filter, known func(string) bool) ([]map[string]any, error) {
	for name, flt := range filters {
		if !known(name) {
			return nil, wrong("in query parameters: %s is not a valid search key", name)
		}
		for op := range flt {
			if !slices.Contains([]string{"eq", "neq", "gt", "gte", "lt", "lte", "in", "notin"}, op) {
				return nil, wrong("in query parameters: %s is not a valid operator", op)
			}
		}
	}
	return slices.DeleteFunc(rows, func(row map[string]any) bool {
		for name, flt := range filters {
			value := row[name]
			if place, ok := value.(string); ok && name == "geolocation" {
				value = place[strings.LastIndex(place, " ")+1:] // filters have the country's code
			}
			if !flt.passes(value) {
				return true
			}
		}
		return false
	}), nil
}

func (flt filter) passes(value any) bool {
	for op, want := range flt {
		list, _ := want.([]any)
		among := slices.ContainsFunc(list, func(w any) bool { return compare(value, w) == 0 })
		n := compare(value, want)
		ok := map[string]bool{"eq": n == 0, "neq": n != 0, "gt": n > 0, "gte": n >= 0, "lt": n < 0, "lte": n <= 0, "in": among, "notin": !among}[op]
		if value == nil && op != "eq" && op != "neq" && op != "notin" {
			ok = false
		}
		if !ok {
			return false
		}
	}
	return true
}

// compare orders numbers, also those that a client wrote as strings, and texts.
func compare(a, b any) int {
	x, xok := number(a)
	y, yok := number(b)
	if xok && yok {
		return cmp.Compare(x, y)
	}
	return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b))
}

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case int:
		return float64(v), true
	case bool:
		return float64(btoi(v)), true
	case string:
		switch strings.ToLower(v) {
		case "true":
			return 1, true
		case "false":
			return 0, true
		}
		x, err := strconv.ParseFloat(v, 64)
		return x, err == nil
	}
	return 0, false
}

func has(row map[string]any, name string) bool {
	_, ok := row[name]
	return ok
}

// wrong is an error in the service's words.
func wrong(format string, args ...any) error {
	return errors.New("Error " + fmt.Sprintf(format, args...))
}
