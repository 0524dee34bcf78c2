package verify

import (
	"archive/zip"
	"bufio"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"strings"

	"github.com/muster-run/muster/providers"
)

// checkZip unpacks every member and compares its CRC and length. It covers
// .npz, of whose arrays it reads the headers, too, and PyTorch's .pt.
func checkZip(ctx context.Context, f *file, _ providers.VerifyCheck) error {
	directory := &directoryReader{ctx: ctx, f: f, left: mostDirectory}
	z, err := zip.NewReader(directory, f.mark.Size)
	directory.read = true
	switch {
	case errors.Is(err, zip.ErrFormat):
		return fmt.Errorf("no directory at the end of the file (%d bytes): it was cut short or is not a zip file", f.mark.Size)
	case err != nil && !errors.Is(err, zip.ErrInsecurePath):
		return err
	case len(z.File) == 0:
		return errors.New("there is no member in it")
	}
	if err := fits(ctx, "the unpacked size", unpacked(z)); err != nil {
		return err
	}
	npz := strings.HasSuffix(f.path, ".npz")
	for _, m := range z.File {
		if err := checkZipMember(ctx, m, npz); err != nil {
			return fmt.Errorf("member %s: %w", m.Name, err)
		}
	}
	return nil
}

// directoryReader bounds how much of a file zip.NewReader reads, because it keeps that.
type directoryReader struct {
	ctx  context.Context
	f    *file
	left int64
	read bool // the directory is read; the rest is not kept
}

func (d *directoryReader) ReadAt(p []byte, off int64) (int, error) {
	if d.read {
		return d.f.ReadAt(p, off)
	}
	if err := count(d.ctx, len(p)); err != nil {
		return 0, err
	}
	if d.left -= int64(len(p)); d.left < 0 {
		return 0, errDirectory
	}
	return d.f.ReadAt(p, off)
}

// unpacked is how many bytes the members hold, as the directory says.
func unpacked(z *zip.Reader) (n int64) {
	for _, m := range z.File {
		if n += int64(min(m.UncompressedSize64, math.MaxInt64/2)); n < 0 {
			return math.MaxInt64
		}
	}
	return n
}

// encrypted is bit 0 of the flags. APPNOTE.TXT, 4.4.4.
const encrypted = 1

func checkZipMember(ctx context.Context, m *zip.File, npz bool) error {
	if m.Flags&encrypted != 0 {
		return errors.New("it is encrypted")
	}
	r, err := m.Open()
	if err != nil {
		return zipError(err)
	}
	defer r.Close()
	// archive/zip takes a CRC of 0 for "not stated"; here it must be right.
	sum := crc32.NewIEEE()
	body := bufio.NewReaderSize(io.TeeReader(&ctxReader{ctx, r}, sum), 32<<10)
	if npz && strings.HasSuffix(m.Name, ".npy") {
		if err := checkNPY(body, m.UncompressedSize64); err != nil {
			return err
		}
	}
	if _, err := io.Copy(io.Discard, body); err != nil {
		return zipError(err)
	}
	if sum.Sum32() != m.CRC32 {
		return zipError(zip.ErrChecksum)
	}
	return nil
}

func zipError(err error) error {
	switch {
	case errors.Is(err, zip.ErrChecksum):
		return errors.New("checksum does not match")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("its data is cut short")
	case errors.Is(err, zip.ErrFormat):
		return errors.New("its header is damaged")
	case errors.Is(err, zip.ErrAlgorithm):
		return errors.New("it is packed in a way that cannot be unpacked here; check it with your own loader: verify command")
	}
	return err
}
