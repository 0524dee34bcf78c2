package ssh

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/agent"
)

// embedded holds the files that `make build` has put into bin, at least a
// README.
//
//go:embed bin
var embedded embed.FS

// EnvBinaries names a folder of muster-host binaries, for a muster that was
// built without them.
const EnvBinaries = "MUSTER_HOST_BINARIES"

// A binary is muster-host for one kind of host.
type binary struct {
	digest string // sha256 of the program, hex
	packed []byte // gzip
}

// name is the file's on a host: its content decides.
func (b *binary) name() string { return agent.Prefix + b.digest[:16] }

// text is the program itself.
func (b *binary) text() ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(b.packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// A binaries finds muster-host for kinds of hosts. The zero value looks
// wherever one may be.
type binaries struct {
	mu    sync.Mutex
	found map[string]*binary // by architecture
	from  []fs.FS            // nil = places()
}

// places are the folders to look in, the first that has a binary counts.
func places() []fs.FS {
	var out []fs.FS
	if dir := os.Getenv(EnvBinaries); dir != "" {
		out = append(out, os.DirFS(dir))
	}
	if in, err := fs.Sub(embedded, "bin"); err == nil {
		out = append(out, in)
	}
	if self, err := os.Executable(); err == nil {
		out = append(out, os.DirFS(filepath.Dir(self)))
	}
	return out
}

// of is the binary for an architecture, as Go names it.
func (s *binaries) of(arch string) (*binary, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.found[arch]; b != nil {
		return b, nil
	}
	if s.from == nil {
		s.from = places()
	}
	base := "muster-host-linux-" + arch
	for _, from := range s.from {
		b, err := load(from, base)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, providers.Errorf(providers.Internal, "muster-host for linux/%s cannot be read: %v", arch, err)
		}
		if s.found == nil {
			s.found = map[string]*binary{}
		}
		s.found[arch] = b
		return b, nil
	}
	return nil, &providers.Error{Class: providers.Invalid, Summary: fmt.Sprintf("This muster carries no program for linux/%s hosts", arch),
		Detail: base + " is neither built in, nor beside muster, nor in $" + EnvBinaries,
		Hint:   "build muster with `make build`, which builds it in"}
}

// Program is the program for hosts with a processor, as Go names it, that this
// muster carries or finds.
func Program(arch string) ([]byte, error) {
	b, err := carried.of(arch)
	if err != nil {
		return nil, err
	}
	return b.text()
}

// Carries says why this muster can run nothing on hosts with a processor, as Go names it.
func Carries(arch string) error {
	_, err := carried.of(arch)
	return err
}

// carried are those that were read.
var carried binaries

// load reads a binary, packed or not.
func load(from fs.FS, base string) (*binary, error) {
	if packed, err := fs.ReadFile(from, base+".gz"); err == nil {
		b := &binary{packed: packed}
		if sum, err := fs.ReadFile(from, base+".sha256"); err == nil {
			b.digest = strings.TrimSpace(string(sum))
		}
		if raw, err := hex.DecodeString(b.digest); err == nil && len(raw) == sha256.Size {
			return b, nil
		}
		return b, b.measure()
	}
	plain, err := fs.ReadFile(from, base)
	if err != nil {
		return nil, err
	}
	var z bytes.Buffer
	w, _ := gzip.NewWriterLevel(&z, gzip.BestSpeed) // the level is legal
	if _, err := w.Write(plain); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	b := &binary{packed: z.Bytes()}
	return b, b.measure()
}

// measure computes the digest.
func (b *binary) measure() error {
	text, err := b.text()
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	b.digest = hex.EncodeToString(sum[:])
	return nil
}
