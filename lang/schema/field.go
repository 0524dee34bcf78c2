package schema

import (
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/muster-run/muster/lang/value"
)

// Hash says which hash an attribute of a phase belongs to, and so what happens
// to jobs when it changes.
type Hash int

// The hashes of a job.
const (
	_ Hash = iota // nothing was decided, which a test refuses
	// InResult: it determines outputs. Completed jobs run again.
	InResult
	// InRequest: it decides where and with which resources jobs run, not their results.
	// Completed jobs stay; jobs that have not started are placed again.
	InRequest
	// InNone: it decides how muster handles or checks jobs. A change is in effect
	// from the next launch.
	InNone
)

// A Field is an attribute whose value goes into a T as it is. Decoding, hashes,
// rendering and messages follow from it.
type Field[T any] struct {
	Attr
	// At points to where a T has it: a *string, *int, *int64 (bytes),
	// *time.Duration or *[]string.
	At    func(*T) any
	Least int                   // of an *int
	Check func(cty.Value) error // of the written value, before conversion; may be nil
	// Key is its name in the request hash. A field without one is in it by Name,
	// and only where it is not zero, so that the hashes of jobs without it stay.
	Key string
}

// Attrs are the attributes of fields.
func Attrs[T any](fields []Field[T]) []Attr {
	out := make([]Attr, len(fields))
	for i, f := range fields {
		out[i] = f.Attr
	}
	return out
}

// Set writes the value of an expression.
func (f *Field[T]) Set(t *T, v cty.Value) (err error) {
	if f.Check != nil {
		if err := f.Check(v); err != nil {
			return err
		}
	}
	switch at := f.At(t).(type) {
	case *string:
		*at, err = value.Text(v)
	case *int:
		*at, err = value.Integer(v, f.Least)
	case *int64:
		*at, err = value.Size(v)
	case *time.Duration:
		*at, err = value.Duration(v)
	case *[]string:
		*at, err = value.Texts(v)
	default:
		panic("muster: the field " + f.Name + " has no type that a value converts to")
	}
	return err
}

// Hashed is the field as the request hash has it; false where it is left out.
func (f *Field[T]) Hashed(t *T) (key string, v any, in bool) {
	key, in = f.Key, true
	zero := false
	switch at := f.At(t).(type) {
	case *string:
		v, zero = *at, *at == ""
	case *int:
		v, zero = *at, *at == 0
	case *int64:
		v, zero = *at, *at == 0
	case *time.Duration:
		v, zero = at.String(), *at == 0
	case *[]string:
		v, zero = *at, len(*at) == 0
	}
	if key == "" {
		key, in = f.Name, !zero
	}
	return key, v, in
}

// Number is a count, bytes or seconds; false for a field that is none of them.
func (f *Field[T]) Number(t *T) (n int64, is bool) {
	switch at := f.At(t).(type) {
	case *int:
		return int64(*at), true
	case *int64:
		return *at, true
	case *time.Duration:
		return int64(*at / time.Second), true
	}
	return 0, false
}
