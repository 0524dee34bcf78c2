package protocol

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/protocol/pb"
)

// fill sets every field below v to something that is not zero, each to
// something else, so that a field the wire forgets is seen.
func fill(v reflect.Value, n *int) {
	*n++
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprintf("text %d ü\n", *n))
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*n))
	case reflect.Uint64:
		v.SetUint(uint64(*n))
	case reflect.Float64:
		v.SetFloat(float64(*n) + 0.5)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, n)
		fill(value, n)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Slice:
		switch v.Type() {
		case reflect.TypeFor[json.RawMessage](), reflect.TypeFor[[]byte]():
			v.SetBytes(fmt.Appendf(nil, "%d", *n))
		default:
			if (v.Type() == reflect.TypeFor[[]offer.NestedBlock]() || v.Type() == reflect.TypeFor[[]offer.Observation]()) && *n > 60 {
				return // a block holds blocks
			}
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
			fill(v.Index(0), n)
			fill(v.Index(1), n)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(int64(*n), 7).UTC()))
			return
		}
		for i := range v.NumField() {
			f := v.Type().Field(i).Name
			if v.Type() == reflect.TypeFor[offer.Pool]() && f == "Rank" {
				continue // it is a pool's place in the stream of pools
			}
			if v.Type() == reflect.TypeFor[offer.Schema]() && f == "Opaque" {
				continue // it is said of a provider that is not asked
			}
			if v.Type() == reflect.TypeFor[offer.Scratch]() && f == "Folder" {
				continue // it is made where the launch runs
			}
			if v.Type() == reflect.TypeFor[offer.Attr]() && f == "Check" {
				continue // built-in providers alone have one
			}
			if v.Type() == reflect.TypeFor[offer.Price]() && (strings.HasPrefix(f, "USD") || strings.HasPrefix(f, "SU")) {
				*n++
				v.Field(i).SetString(fmt.Sprintf("%d.5", *n)) // a rate is a number
				continue
			}
			fill(v.Field(i), n)
		}
	default:
		panic("fill cannot fill a " + v.Kind().String())
	}
}

// carried sends a filled value through out, bytes, and in, and wants it back.
func carried[G any, M proto.Message](t *testing.T, out func(G) M, in func(M) G) {
	t.Helper()
	var want G
	n := 0
	fill(reflect.ValueOf(&want).Elem(), &n)
	for name, want := range map[string]G{"filled": want, "zero": *new(G)} {
		wire, err := proto.Marshal(out(want))
		if err != nil {
			t.Fatal(err)
		}
		m := out(*new(G)).ProtoReflect().New().Interface().(M)
		if err := proto.Unmarshal(wire, m); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, in(m)); diff != "" {
			t.Errorf("%s %T changed on the wire (-sent +received):\n%s", name, want, diff)
		}
	}
}

func TestEveryFieldTravels(t *testing.T) {
	t.Parallel()
	carried(t, submissionOut, submissionIn)
	carried(t, reply[pb.Observation], value[offer.Observation])
	carried(t, reply[pb.Pool], value[offer.Pool])
	carried(t, reply[pb.Quote], value[offer.Quote])
	carried(t, reply[pb.Rental], value[offer.Rental])
	carried(t, request[pb.Shape], value[offer.Shape])
	carried(t, request[pb.Backend], value[providers.Backend])
	carried(t, request[pb.Check], value[providers.Check])
	carried(t, reply[pb.Finding], value[providers.Finding])
	carried(t, request[pb.Output], value[providers.Output])
	carried(t, reply[pb.OutputFound], value[offer.Output])
	carried(t, reply[pb.Note], value[providers.Note])
	carried(t, reply[pb.Outcome], value[providers.Outcome])
	carried(t, reply[pb.Submitted], value[providers.Submitted])
	carried(t, reply[pb.FileInfo], value[providers.FileInfo])
	carried(t, reply[pb.Schema], func(m *pb.Schema) offer.Schema {
		s := value[offer.Schema](m)
		if s.Type != "" {
			s.Profiles = profilesOfFilled() // they travel in messages of their own
		}
		return s
	})
}

func profilesOfFilled() map[string][]byte {
	var s offer.Schema
	n := 0
	fill(reflect.ValueOf(&s).Elem(), &n)
	return s.Profiles
}

func TestSecretsTravelApart(t *testing.T) {
	t.Parallel()
	j := providers.Job{Token: "t", Secrets: []providers.EnvVar{{Name: "KEY", Value: "hush"}}}
	s := submissionOut(j)
	if strings.Contains(s.GetJob().String(), "hush") {
		t.Error("the secret is in the job")
	}
	if got := submissionIn(s).Secrets; len(got) != 1 || got[0].Value != "hush" {
		t.Errorf("secrets are %v", got)
	}
}

func TestForeignTextIsMadeValid(t *testing.T) {
	t.Parallel()
	o := reply[pb.Observation](offer.Observation{Tail: []string{"bad \xff byte"}, Reason: "\xfe"})
	if _, err := proto.Marshal(o); err != nil {
		t.Fatal(err)
	}
	j := request[pb.Job](providers.Job{Shell: "printf '\xff'", Env: []providers.EnvVar{{Name: "A", Value: "\xff"}}})
	if _, err := proto.Marshal(j); err != nil {
		t.Fatal(err)
	}
	if got := value[providers.Job](j); got.Shell != "printf '\xff'" || got.Env[0].Value != "\xff" {
		t.Errorf("bytes changed: %q", got.Shell)
	}
}

func job(i int) providers.Job {
	return providers.Job{
		Token: fmt.Sprintf("%032x", i), Address: fmt.Sprintf("phase.students[\"N=384,seed=%d\"]", i), Phase: "students", Name: "students",
		Attempt: 1, Shell: "./train --seed 7 --out out/7.json", Workdir: "/work/dir", Dir: "/work/dir",
		Env: []providers.EnvVar{{Name: "A", Value: "b"}}, Outputs: []providers.Output{{Name: "m", Kind: "path", Path: "out/7.json"}},
		Retry: providers.Retry{On: []string{"oom"}, Max: 2}, ResultHash: fmt.Sprintf("%032x", i),
	}
}

func BenchmarkJobEncodeDecode(b *testing.B) {
	j := job(1)
	for b.Loop() {
		wire, err := proto.Marshal(submissionOut(j))
		if err != nil {
			b.Fatal(err)
		}
		var m pb.Submission
		if err := proto.Unmarshal(wire, &m); err != nil {
			b.Fatal(err)
		}
		_ = submissionIn(&m)
	}
}

// TestDeviceMemoryOnTheWire: what has no word of it, as protocol buffers leave
// out a number that was not set, is unknown; and to a reader of plain numbers,
// to which what is absent is 0, the unknown is said as -1.
func TestDeviceMemoryOnTheWire(t *testing.T) {
	t.Parallel()
	none, unknown := int64(0), int64(-1)
	for name, c := range map[string]struct {
		wire *pb.Usage
		want *int64
	}{
		"unset":   {&pb.Usage{Elapsed: 1, GpuSeconds: 1}, nil},
		"unknown": {&pb.Usage{GpuMaxMem: &unknown}, nil},
		"none":    {&pb.Usage{GpuMaxMem: &none}, &none},
	} {
		text, err := proto.Marshal(c.wire)
		if err != nil {
			t.Fatal(err)
		}
		var m pb.Usage
		if err := proto.Unmarshal(text, &m); err != nil {
			t.Fatal(err)
		}
		got := value[offer.Usage](&m).GPUMaxMem
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if m := reply[pb.Usage](offer.Usage{}); m.GpuMaxMem == nil || *m.GpuMaxMem != -1 {
		t.Errorf("unknown is sent as %v", m.GpuMaxMem)
	}
}

// TestWhatNoQuantityIs: what a hostile host says of itself drives no terminal, has no
// end of text, and holds no amount that cannot be.
func TestWhatNoQuantityIs(t *testing.T) {
	t.Parallel()
	const evil = "\x1b[2J\u202e"
	pool := value[offer.Pool](&pb.Pool{Word: evil, Notes: []string{strings.Repeat("x", 1<<20)}, Idle: math.MinInt64, Memory: -1, Wait: -5, MaxTime: -1,
		Price: &pb.Price{Known: true, UsdPerHour: "-1", UsdPerGpuHour: "NaN", SuPerCpuHour: "Inf", Granularity: -1}})
	if pool.Word != "␛[2J\ufffd" || len(pool.Notes[0]) > mostText+10 || pool.Idle != -1 || pool.Memory != 0 || pool.Wait != -1 || pool.MaxTime != 0 {
		t.Errorf("%q, %d bytes of notes, %d idle, %d, %d, %d", pool.Word, len(pool.Notes[0]), pool.Idle, pool.Memory, pool.Wait, pool.MaxTime)
	}
	if p := pool.Price; p.Known || !p.UnknownSU || p.USDPerHour+p.USDPerGPUHour+p.SUPerCPUHour != "" || p.Granularity != 0 {
		t.Errorf("%+v", p)
	}
	o := value[offer.Observation](&pb.Observation{Attempt: math.MaxInt64, Got: &pb.Shape{Gpus: -1}, Usage: &pb.Usage{Elapsed: math.MinInt64, GpuSeconds: math.NaN(), MaxRss: -7}})
	if o.Attempt != 0 || o.Got != nil || o.Usage.Elapsed != -1 || o.Usage.GPUSeconds != -1 || o.Usage.MaxRSS != -1 {
		t.Errorf("%+v, %+v", o, o.Usage)
	}
	left := 3 * maxAnswer / maxBatch
	recv := bounded(func() (*pb.ListReply, error) {
		left--
		return &pb.ListReply{Files: []*pb.FileInfo{{Path: make([]byte, maxBatch)}}}, nil
	})
	for left > 0 {
		if _, err := recv(); err != nil {
			if !strings.Contains(err.Error(), "over 128 MiB") {
				t.Error(err)
			}
			return
		}
	}
	t.Error("an answer has no end")
}
