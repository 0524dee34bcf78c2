package wrapper

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/muster-run/muster/providers"
)

const (
	leastSecret = 4       // bytes: anything shorter is in every text
	mostSecret  = 1 << 20 // bytes of the secrets of a job that are looked for
)

// A Mask hides a job's secrets in its output. It replaces each byte of them by a star, so that
// the length stays. The zero value hides nothing.
type Mask struct {
	values  [][]byte // longest first
	longest int
}

// ReadMask is the mask of the secrets in a file that Exports wrote; without the
// file it hides nothing.
func ReadMask(path string) Mask {
	if path == "" {
		return Mask{}
	}
	b, err := os.ReadFile(path)
	if err != nil || len(b) > mostSecret {
		return Mask{}
	}
	var values []string
	for _, v := range exported(string(b)) {
		values = append(values, v.Value)
	}
	return maskOf(values)
}

// ReadExports are the variables in a file that Exports wrote; "" is no file.
func ReadExports(path string) ([]providers.EnvVar, error) {
	if path == "" {
		return nil, nil
	}
	b, err := os.ReadFile(path)
	return exported(string(b)), err
}

// exported reads the output of Exports.
func exported(text string) (out []providers.EnvVar) {
	for {
		name, rest, ok := strings.Cut(text, "='")
		if !ok {
			return out
		}
		name = strings.TrimPrefix(strings.TrimSpace(name), "export ")
		var v strings.Builder
		for {
			part, after, ok := strings.Cut(rest, "'")
			if v.WriteString(part); !ok {
				return out
			}
			if rest, ok = strings.CutPrefix(after, `\''`); !ok {
				text = after
				break
			}
			v.WriteByte('\'')
		}
		out = append(out, providers.EnvVar{Name: name, Value: v.String()})
	}
}

// maskOf is the mask of some secrets: of each the whole, its lines, and both in
// base 64.
func maskOf(secrets []string) (m Mask) {
	for _, s := range secrets {
		for _, part := range append(strings.Split(s, "\n"), s) {
			part = strings.TrimSpace(part)
			if len(part) < leastSecret {
				continue
			}
			m.values = append(m.values, []byte(part), []byte(base64.RawStdEncoding.EncodeToString([]byte(part))), []byte(base64.RawURLEncoding.EncodeToString([]byte(part))))
		}
	}
	slices.SortFunc(m.values, func(a, b []byte) int { return cmp.Or(len(b)-len(a), bytes.Compare(a, b)) })
	m.values = slices.CompactFunc(m.values, bytes.Equal)
	if len(m.values) > 0 {
		m.longest = len(m.values[0])
	}
	return m
}

// Bytes is a text with its secrets masked, as long as before. It may be the same
// slice.
func (m Mask) Bytes(b []byte) []byte {
	for _, v := range m.values {
		for at := 0; ; {
			i := bytes.Index(b[at:], v)
			if i < 0 {
				break
			}
			for k := range v {
				b[at+i+k] = '*'
			}
			at += i + len(v)
		}
	}
	return b
}

// Text is Bytes of a text.
func (m Mask) Text(s string) string {
	if len(m.values) == 0 {
		return s
	}
	return string(m.Bytes([]byte(s)))
}

const maskBlock = 256 << 10 // bytes of a log that are looked at at once

// Copy writes a log from an offset on, masked, and returns how much it wrote. Unless it is the
// end of the log, Copy leaves the possible beginning of a secret for the next time.
func (m Mask) Copy(w io.Writer, from io.ReaderAt, at int64, end bool) (n int64, err error) {
	if m.longest == 0 {
		return io.Copy(w, io.NewSectionReader(from, at, 1<<62))
	}
	before := min(at, int64(m.longest)) // a secret may begin before
	buf := make([]byte, int(before)+2*m.longest+maskBlock)
	for {
		k, err := from.ReadAt(buf, at-before)
		if err != nil && err != io.EOF {
			return n, err
		}
		text := m.Bytes(buf[:k])
		keep := m.longest - 1
		if err == io.EOF && end {
			keep = 0
		}
		if k-keep <= int(before) {
			return n, nil
		}
		wrote, no := w.Write(text[before : k-keep])
		at, n = at+int64(wrote), n+int64(wrote)
		if no != nil || err == io.EOF {
			return n, no
		}
		before = min(at, int64(m.longest))
	}
}

// File masks a log in place. A missing log has nothing to mask.
func (m Mask) File(path string) error {
	if m.longest == 0 {
		return nil
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	buf := make([]byte, 2*m.longest+maskBlock)
	for at := int64(0); ; {
		k, err := f.ReadAt(buf, at)
		if err != nil && err != io.EOF {
			return errors.Join(err, f.Close())
		}
		was := bytes.Clone(buf[:k])
		if text := m.Bytes(buf[:k]); !bytes.Equal(was, text) {
			if _, err := f.WriteAt(text, at); err != nil {
				return errors.Join(err, f.Close())
			}
		}
		if err == io.EOF {
			return f.Close()
		}
		at += int64(k - m.longest)
	}
}
