package codec

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/muster-run/muster/state"
)

// fill gives every field of v, however deep, a value that is not zero. A field
// added to a job later is in it by itself.
func fill(t *rapid.T, v reflect.Value) {
	switch v.Interface().(type) {
	case time.Time:
		sec := rapid.Int64Range(0, 4e9).Draw(t, "sec")
		nano := rapid.SampledFrom([]int64{0, 1, 120_000_000, 999_999_999}).Draw(t, "nano")
		v.Set(reflect.ValueOf(time.Unix(sec, nano).UTC()))
		return
	case state.Texts:
		v.Set(reflect.ValueOf(state.TextsOf(rapid.MapOfN(words, words, 1, 3).Draw(t, "texts"))))
		return
	case json.RawMessage:
		v.Set(reflect.ValueOf(json.RawMessage(`{"a":[1,"<&>"]}`)))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(t, v.Field(i))
			}
		}
	case reflect.String:
		v.SetString(words.Draw(t, "text"))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(rapid.Int64().Filter(func(n int64) bool { return n != 0 }).Draw(t, "int"))
	case reflect.Uint64:
		v.SetUint(rapid.Uint64Min(1).Draw(t, "uint"))
	case reflect.Float64:
		v.SetFloat(rapid.OneOf(rapid.Float64Range(-1e300, 1e300), rapid.Map(rapid.IntRange(1, 1e6), func(n int) float64 { return float64(n) })).Draw(t, "float"))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), rapid.IntRange(1, 3).Draw(t, "len"), 3))
		for i := range v.Len() {
			fill(t, v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range rapid.IntRange(1, 3).Draw(t, "len") {
			key, val := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			fill(t, key)
			fill(t, val)
			v.SetMapIndex(key, val)
		}
	default:
		t.Fatalf("no value for %s", v.Type())
	}
}

var words = rapid.OneOf(
	rapid.StringMatching(`[a-z0-9/._-]{1,40}`),
	rapid.SampledFrom([]string{`phase.a["lr=1e-3,seed=2"]`, "line\nwith \"quotes\" and \\", "ünïcode ☃ 𝄞", "<tag>&amp;", "\u2028", "tab\t", "\x00\x1f", "�"}),
)

func TestJobIsScannedAsItWasWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var j, std state.Job
		fill(t, reflect.ValueOf(&j).Elem())
		line, err := AppendJob([]byte("before "), &j)
		if err != nil {
			t.Fatal(err)
		}
		line = line[len("before "):]
		p := &scan{s: string(line)}
		var got state.Job
		p.job(&got)
		if !p.done() {
			t.Fatalf("the scan gives up at byte %d of %s; does it know every field?", p.i, line)
		}
		if err := json.Unmarshal(line, &std); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, std) || !reflect.DeepEqual(got, j) {
			t.Fatal(cmp.Diff(j, got))
		}
	})
}

// sparse zeroes some fields, so that both sides omit the same ones.
func sparse(t *rapid.T, v reflect.Value) {
	switch {
	case rapid.IntRange(0, 3).Draw(t, "zero") == 0:
		v.SetZero()
	case v.Type() == reflect.TypeFor[time.Time](), v.Type() == reflect.TypeFor[state.Texts]():
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			sparse(t, v.Field(i))
		}
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			sparse(t, v.Index(i))
		}
	case v.Kind() == reflect.Pointer:
		sparse(t, v.Elem())
	}
}

func TestWrittenAsEncodingJSONDoes(t *testing.T) {
	t.Parallel()
	if !known {
		t.Error("a struct of package state has a field that encode.go does not write: add it there, in job.go, and to the counts in known")
	}
	rapid.Check(t, func(t *rapid.T) {
		var e state.Observed
		var i state.Intended
		fill(t, reflect.ValueOf(&e).Elem())
		fill(t, reflect.ValueOf(&i).Elem())
		sparse(t, reflect.ValueOf(&e).Elem())
		sparse(t, reflect.ValueOf(&i).Elem())
		for _, e := range []state.Event{e, i} {
			got, err := AppendEvent(nil, e)
			if err != nil {
				t.Fatal(err)
			}
			want, err := appendJSON(nil, e)
			if err != nil || string(got) != string(want) {
				t.Fatalf("%v\n got %s\nwant %s", err, got, want)
			}
		}
	})
}

func TestEntryIsScannedAsItWasWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var e, got state.Entry
		fill(t, reflect.ValueOf(&e).Elem())
		line, err := AppendEntry(nil, &e)
		if err != nil {
			t.Fatal(err)
		}
		p := &scan{s: string(line)}
		if p.entry(&got); !p.done() || !reflect.DeepEqual(got, e) {
			t.Fatalf("%s: %s", line, cmp.Diff(e, got))
		}
	})
}

// events has one of each kind there is.
var events = []state.Event{
	state.Began{}, state.Defined{}, state.Approved{}, state.Finished{}, state.Intended{}, state.Submitted{}, state.NotSubmitted{},
	state.Observed{}, state.HeldJob{}, state.Freed{}, state.MovedJob{}, state.Renamed{}, state.Forgot{}, state.Accepted{}, state.OutputsSeen{}, state.MetricsRead{}, state.Reused{},
	state.Validated{}, state.Overrode{}, state.Noted{}, state.Reviewed{}, state.HoldSet{}, state.HoldClear{}, state.BreakerOpened{}, state.BreakerClosed{}, state.Paused{}, state.Unpaused{}, state.Unreachable{}, state.Reachable{},
	state.Spent{}, state.Rented{},
}

func TestEveryKindHasAReader(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, e := range events {
		seen[e.Kind()] = true
		if got, err := new(Decoder).Event(e.Kind(), "{}"); err != nil || reflect.TypeOf(got) != reflect.TypeOf(e) {
			t.Errorf("%s: %T, %v", e.Kind(), got, err)
		}
	}
	if len(seen) != len(kinds) {
		t.Errorf("%d kinds are read, %d are known here", len(kinds), len(seen))
	}
	if _, err := new(Decoder).Event("from the future", "{}"); err == nil {
		t.Error("an unknown kind is no error")
	}
}

func TestEventRoundTrip(t *testing.T) {
	t.Parallel()
	for _, e := range events {
		t.Run(e.Kind(), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				v := reflect.New(reflect.TypeOf(e)).Elem()
				fill(t, v)
				want := v.Interface().(state.Event)
				raw, err := AppendEvent(nil, want)
				if err != nil {
					t.Fatal(err)
				}
				got, err := new(Decoder).Event(e.Kind(), string(raw))
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
					t.Fatal(diff)
				}
				again, _ := AppendEvent(nil, got)
				if !bytes.Equal(raw, again) {
					t.Fatalf("%s\n%s", raw, again)
				}
			})
		})
	}
}

// FuzzScan: on any text the scan gives up or says what encoding/json says. A repeated key is
// beyond it; nothing that writes here does that.
func FuzzScan(f *testing.F) {
	for _, seed := range []string{
		`{"address":"a","phase":"p","status":"running"}`, `{"address":"a\u00e9","updated":"2026-02-29T00:00:00Z"}`,
		`{"attempts":[{"n":1,"exit":-0,"usage":{"elapsed":1e3,"cpu":01,"max_rss":1.0}}]}`, `{"axes":{},"outputs":[]}`, `{"retry":"2026-10-01T24:00:00.1Z"}`,
		`{"address":"` + "\xff" + `"}`, `{"smoke":true,"scheme":+1}`, `{"axes":{"a":"\ud800"}}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p := &scan{s: text}
		var got, want state.Job
		if p.job(&got); !p.done() || strings.Count(text, `":`) != keys(text) {
			return
		}
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			t.Fatalf("the scan takes what encoding/json refuses: %v", err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

// keys counts the different keys.
func keys(text string) int {
	seen := map[string]bool{}
	for part := range strings.SplitSeq(text, `":`) {
		seen[part[strings.LastIndexByte(part, '"')+1:]] = true
	}
	return len(seen) - 1
}
