package page

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/muster-run/muster/providers/offer"
)

// filled sets every field of a value that JSON would otherwise leave out, to
// something that is not zero.
func filled(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)))
			return
		}
		for i := range v.NumField() {
			filled(v.Field(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		filled(v.Index(0))
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	default:
		v.SetInt(int64(3 * time.Second))
	}
}

// TestEveryFactOfAPoolIsInItsJSON, under a name that the reference has.
func TestEveryFactOfAPoolIsInItsJSON(t *testing.T) {
	reference, err := os.ReadFile("../../../docs/reference/json.md")
	if err != nil {
		t.Fatal(err)
	}
	var p offer.Pool
	filled(reflect.ValueOf(&p).Elem())
	text, err := json.Marshal(Backend{Name: "slurm.alpine", Pools: []offer.Pool{p}})
	if err != nil {
		t.Fatal(err)
	}
	var doc struct{ Pools []map[string]any }
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	pool := doc.Pools[0]
	price, clock := pool["price"].(map[string]any), pool["clocks"].([]any)[0].(map[string]any)
	for _, c := range []struct {
		what    string
		members map[string]any
		facts   int // fields of the value, less those that stand elsewhere
	}{
		{"pool", pool, reflect.TypeFor[offer.Pool]().NumField() - 2}, // the heading has the backend's name, and the rank is the place in the list
		{"price", price, reflect.TypeFor[offer.Price]().NumField()},
		{"clock", clock, reflect.TypeFor[offer.Clock]().NumField()},
	} {
		if len(c.members) != c.facts {
			t.Errorf("%s: %d of %d facts: %v", c.what, len(c.members), c.facts, c.members)
		}
		for name, value := range c.members {
			if name != strings.ToLower(name) || !strings.Contains(string(reference), "`"+name+"`") {
				t.Errorf("%s: the reference has no `%s`", c.what, name)
			}
			if strings.HasSuffix(name, "_seconds") && value != 3.0 {
				t.Errorf("%s: %s is %v, not 3", c.what, name, value)
			}
		}
	}
}

// TestPoolsInJSON: what is unknown is -1, and what is not there is left out.
func TestPoolsInJSON(t *testing.T) {
	for want, b := range map[string]Backend{
		`{"name":"a","problem":"no route","pools":[]}`: {Name: "a", Problem: "no route"},
		`{"name":"a","pools":[{"kind":"machine","word":"machine","cpus":4,"idle":0,"total":4,"wait_seconds":0,"price":{"known":true}}]}`: {Name: "a", Pools: []offer.Pool{
			{Backend: "a", Kind: offer.MachinePool, Word: "machine", CPUs: 4, Total: 4, Price: offer.Price{Known: true}}}},
		`{"name":"a","pools":[{"name":"aa100","gpus":3,"gpu_model":"A100","max_seconds":86400,"idle":-1,"wait_seconds":-1,"price":{"known":true,"service_units_per_gpu_hour":"108.2"}}]}`: {Name: "a", Pools: []offer.Pool{
			{Name: "aa100", GPUs: 3, GPUModel: "A100", MaxTime: 24 * time.Hour, Idle: -1, Wait: -1, Price: offer.Price{Known: true, SUPerGPUHour: "108.2"}}}},
	} {
		got, err := json.Marshal(b)
		if err != nil || string(got) != want {
			t.Errorf("%s, %v\nnot %s", got, err, want)
		}
	}
}
