package protocol

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"
)

// A Go struct and its message have the same fields under the same names, but for
// case: GPUs is Gpus. So one rule copies all of them, and a field is on the wire
// when both have it. A field of a struct that its message lacks is a panic, which
// TestEveryFieldTravels meets first.
//
// The wire and Go differ in little. An empty list or map is none on the wire, and
// so is a nested struct without values; times lose their zone. Protobuf insists on
// text that is valid UTF-8: values that may be anything are bytes in
// provider.proto.

// request makes the message of a request. Text that is no UTF-8 stays, and fails the request.
func request[M, G any](g G) *M { return message[M](g, false) }

// reply makes the message of a provider's answer. Its text may come from
// outside (a log's tail, a scheduler's reason), and is made valid UTF-8.
func reply[M, G any](g G) *M { return message[M](g, true) }

func message[M, G any](g G, clean bool) *M {
	m := new(M)
	mirrorOf(reflect.TypeFor[G](), reflect.TypeFor[M](), clean).out(reflect.ValueOf(m).Elem(), reflect.ValueOf(&g).Elem())
	return m
}

// value is the content of a message; the zero value where there is none.
func value[G, M any](m *M) (g G) {
	if m != nil {
		mirrorOf(reflect.TypeFor[G](), reflect.TypeFor[M](), false).in(reflect.ValueOf(&g).Elem(), reflect.ValueOf(m).Elem())
	}
	return g
}

// apart are the fields that do not travel in the message of their struct.
var apart = map[string]bool{
	"Job.Secrets":     true, // beside the job, never in it
	"Scratch.Folder":  true, // of one launch, where it runs
	"Pool.Rank":       true, // its place in the stream of pools
	"Schema.Profiles": true, // in messages of their own
	"Schema.Opaque":   true, // of a provider that is not asked
	"Attr.Check":      true, // built-in providers alone have one
}

// A copier copies one value to another. Its source is not zero.
type copier func(dst, src reflect.Value)

// A mirror copies a struct to its message and back.
type mirror struct {
	clean  bool // text is made valid
	fields []mirrored
	amend  amendment
}

type mirrored struct {
	g, m    []int // index of the field in the struct and in the message
	out, in copier
}

// mirrors are made when they are first needed, by mirrorKey.
var mirrors sync.Map

type mirrorKey struct {
	g, m  reflect.Type
	clean bool
}

func mirrorOf(g, m reflect.Type, clean bool) *mirror {
	key := mirrorKey{g, m, clean}
	if found, ok := mirrors.Load(key); ok {
		return found.(*mirror)
	}
	made := &mirror{clean: clean, amend: amendments[g]}
	made.add(g, m, g.Name(), nil, "")
	mirrors.Store(key, made)
	return made
}

// add takes the fields of a struct at an index. A struct that the message does not
// have has its fields there, their names after its own: GPU.Models is GpuModels.
func (mi *mirror) add(g, m reflect.Type, owner string, at []int, prefix string) {
	for i := range g.NumField() {
		f := g.Field(i)
		index := append(append([]int(nil), at...), i)
		name := prefix + f.Name
		if name == "Err" {
			name = "Error"
		}
		peer, ok := m.FieldByNameFunc(func(n string) bool { return strings.EqualFold(n, name) })
		switch {
		case !f.IsExported() || apart[owner+"."+f.Name]:
		case f.Anonymous:
			mi.add(f.Type, m, owner, index, prefix)
		case ok:
			out, in := mi.copiers(f.Type, peer.Type)
			if out == nil {
				panic(fmt.Sprintf("muster: %s.%s is a %s, and message %s has a %s", owner, f.Name, f.Type, m.Name(), peer.Type))
			}
			mi.fields = append(mi.fields, mirrored{index, peer.Index, out, in})
		case f.Type.Kind() == reflect.Struct:
			mi.add(f.Type, m, owner, index, prefix+f.Name)
		default:
			panic(fmt.Sprintf("muster: %s.%s has no field in message %s of provider.proto", owner, f.Name, m.Name()))
		}
	}
}

func (mi *mirror) out(dst, src reflect.Value) {
	for i := range mi.fields {
		f := &mi.fields[i]
		if v := src.FieldByIndex(f.g); !v.IsZero() {
			f.out(dst.FieldByIndex(f.m), v)
		}
	}
	if mi.amend.out != nil {
		mi.amend.out(dst.Addr().Interface(), src.Addr().Interface())
	}
}

func (mi *mirror) in(dst, src reflect.Value) {
	for i := range mi.fields {
		f := &mi.fields[i]
		if v := src.FieldByIndex(f.m); !v.IsZero() {
			f.in(dst.FieldByIndex(f.g), v)
		}
	}
	if mi.amend.in != nil {
		mi.amend.in(dst.Addr().Interface(), src.Addr().Interface())
	}
}

// copiers copy a field of type g to one of type m and back; nil where the types are
// not of a kind.
func (mi *mirror) copiers(g, m reflect.Type) (out, in copier) {
	switch gk, mk := g.Kind(), m.Kind(); {
	case g == reflect.TypeFor[time.Time]() && mk == reflect.Int64:
		return func(dst, src reflect.Value) { dst.SetInt(src.Addr().Interface().(*time.Time).UnixNano()) },
			func(dst, src reflect.Value) { *dst.Addr().Interface().(*time.Time) = time.Unix(0, src.Int()).UTC() }
	case gk == reflect.String && mk == reflect.String:
		same := func(dst, src reflect.Value) { dst.SetString(src.String()) }
		if mi.clean {
			return func(dst, src reflect.Value) { dst.SetString(text(src.String())) }, same
		}
		return same, same
	case gk == reflect.String && isBytes(m):
		return func(dst, src reflect.Value) { dst.SetBytes([]byte(src.String())) },
			func(dst, src reflect.Value) { dst.SetString(string(src.Bytes())) }
	case isBytes(g) && isBytes(m):
		keep := func(dst, src reflect.Value) {
			if src.Len() > 0 {
				dst.SetBytes(src.Bytes())
			}
		}
		return keep, keep
	case isInt(gk) && isInt(mk):
		number := func(dst, src reflect.Value) { dst.SetInt(src.Int()) }
		return number, number
	case isInt(gk) && isUint(mk):
		return func(dst, src reflect.Value) { dst.SetUint(uint64(src.Int())) },
			func(dst, src reflect.Value) { dst.SetInt(int64(src.Uint())) }
	case gk == mk && (isUint(gk) || gk == reflect.Bool || gk == reflect.Float64):
		same := func(dst, src reflect.Value) { dst.Set(src) }
		return same, same
	case gk == reflect.Slice && mk == reflect.Slice:
		return lists(mi.copiers(g.Elem(), m.Elem()))
	case gk == reflect.Map && mk == reflect.Map:
		return mapsOf(mi.copiers(g.Elem(), m.Elem()))
	case gk == reflect.Struct && mk == reflect.Pointer:
		of := sync.OnceValue(func() *mirror { return mirrorOf(g, m.Elem(), mi.clean) }) // a block may hold blocks
		return func(dst, src reflect.Value) {
				dst.Set(reflect.New(m.Elem()))
				of().out(dst.Elem(), src)
			}, func(dst, src reflect.Value) {
				of().in(dst, src.Elem())
			}
	case gk == reflect.Pointer && g.Elem().Kind() == reflect.Struct && mk == reflect.Pointer:
		toMessage, toStruct := mi.copiers(g.Elem(), m)
		return func(dst, src reflect.Value) { toMessage(dst, src.Elem()) },
			func(dst, src reflect.Value) {
				dst.Set(reflect.New(g.Elem()))
				toStruct(dst.Elem(), src)
			}
	case gk == reflect.Pointer && mk == reflect.Pointer:
		return pointers(mi.copiers(g.Elem(), m.Elem()))
	}
	return nil, nil
}

// lists, mapsOf and pointers copy containers, by the copiers of an element.
func lists(out, in copier) (copier, copier) { return list(out), list(in) }

func list(of copier) copier {
	if of == nil {
		return nil
	}
	return func(dst, src reflect.Value) {
		if n := src.Len(); n > 0 {
			dst.Set(reflect.MakeSlice(dst.Type(), n, n))
			for i := range n {
				of(dst.Index(i), src.Index(i))
			}
		}
	}
}

func mapsOf(out, in copier) (copier, copier) { return mapping(out), mapping(in) }

func mapping(of copier) copier {
	if of == nil {
		return nil
	}
	return func(dst, src reflect.Value) {
		if src.Len() == 0 {
			return
		}
		dst.Set(reflect.MakeMapWithSize(dst.Type(), src.Len()))
		for it := src.MapRange(); it.Next(); {
			was, is := reflect.New(src.Type().Elem()).Elem(), reflect.New(dst.Type().Elem()).Elem()
			was.Set(it.Value()) // of() wants a value with an address
			of(is, was)
			dst.SetMapIndex(reflect.ValueOf(text(it.Key().String())), is)
		}
	}
}

func pointers(out, in copier) (copier, copier) { return pointer(out), pointer(in) }

func pointer(of copier) copier {
	if of == nil {
		return nil
	}
	return func(dst, src reflect.Value) {
		dst.Set(reflect.New(dst.Type().Elem()))
		of(dst.Elem(), src.Elem())
	}
}

func isBytes(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8
}
func isInt(k reflect.Kind) bool  { return k >= reflect.Int && k <= reflect.Int64 }
func isUint(k reflect.Kind) bool { return k >= reflect.Uint && k <= reflect.Uint64 }
