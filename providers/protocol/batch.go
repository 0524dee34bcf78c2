package protocol

import (
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/proto"

	"github.com/muster-run/muster/providers"
)

const (
	// maxBatch is how many bytes of items travel in one message.
	maxBatch = 1<<20 - 4<<10
	// maxMessage is the limit both sides set, bytes; one item may use it up.
	maxMessage = 16 << 20
	// maxAnswer bounds the messages of one answer together, bytes: a provider that
	// speaks for a host says what the host says, and a host may never stop.
	maxAnswer = 128 << 20
	// maxPools is how many pools one backend may have: partitions, hosts or kinds of machines.
	maxPools = 10_000
	// maxChunk is how many bytes of a file or log travel in one message.
	maxChunk = 256 << 10

	itemOverhead = 6 // bytes of tag and length around an item
	maxItem      = maxMessage - 64<<10
)

// split converts items and hands them on in parts of at most maxBatch bytes,
// in order. It hands on at least one part, which may be empty, so that a
// header always travels.
func split[A, M any](in []A, convert func(A) M, size func(M) int, emit func(part []M) error) error {
	var part []M
	bytes := 0
	for i, a := range in {
		m := convert(a)
		n := size(m) + itemOverhead
		if n > maxItem {
			return providers.Errorf(providers.Invalid, "item %d of the batch has %d bytes; at most %d can be sent", i, n, maxItem)
		}
		if bytes+n > maxBatch && len(part) > 0 {
			if err := emit(part); err != nil {
				return err
			}
			part, bytes = nil, 0
		}
		part = append(part, m)
		bytes += n
	}
	return emit(part)
}

func splitMessages[A any, M proto.Message](in []A, convert func(A) M, emit func([]M) error) error {
	return split(in, convert, func(m M) int { return proto.Size(m) }, emit)
}

func splitStrings(in []string, emit func([]string) error) error {
	return split(in, text, func(s string) int { return len(s) }, emit)
}

func splitPaths(in []string, emit func([][]byte) error) error {
	return split(in, func(s string) []byte { return []byte(s) }, func(b []byte) int { return len(b) }, emit)
}

// gather reads a stream to its end.
func gather[M any](recv func() (*M, error), take func(*M)) error {
	for {
		m, err := recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		take(m)
	}
}

// bounded receives an answer of at most maxAnswer bytes.
func bounded[M any](recv func() (*M, error)) func() (*M, error) {
	left := maxAnswer
	return func() (*M, error) {
		m, err := recv()
		if err != nil {
			return nil, err
		}
		if left -= proto.Size(any(m).(proto.Message)); left < 0 {
			return nil, endless(fmt.Sprintf("%d MiB", maxAnswer>>20))
		}
		return m, nil
	}
}

// few receives an answer of at most most items: of large ones in memory, maxAnswer bytes are too many.
func few[M any](recv func() (*M, error), most int, items func(*M) int) func() (*M, error) {
	left := most
	return func() (*M, error) {
		m, err := recv()
		if err == nil {
			if left -= items(m); left < 0 {
				return nil, endless(fmt.Sprintf("%d items", most))
			}
		}
		return m, err
	}
}

func endless(most string) error {
	return &providers.Error{Class: providers.Internal, Summary: "The answer is over " + most + ", and muster reads no further",
		Hint: "Log in there and look for a folder of too many files, or for another program in the place of muster's."}
}

// errNoHeader is a request stream that ended before its first message.
var errNoHeader = fmt.Errorf("empty request stream")

// gatherRequest reads a request stream, which has at least one message.
func gatherRequest[M any](recv func() (*M, error), take func(m *M, first bool)) error {
	first := true
	err := gather(recv, func(m *M) {
		take(m, first)
		first = false
	})
	if err == nil && first {
		return errNoHeader
	}
	return err
}
