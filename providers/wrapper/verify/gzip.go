package verify

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/muster-run/muster/providers"
)

// checkGzip unpacks every member to its end, which has its checksum and length. RFC 1952.
func checkGzip(ctx context.Context, f *file, _ providers.VerifyCheck) error {
	z, err := gzip.NewReader(f.reader(ctx))
	if err == nil {
		_, err = io.Copy(io.Discard, &ctxReader{ctx, z})
	}
	switch {
	case err == io.EOF:
		return errors.New("the file is empty")
	case err == io.ErrUnexpectedEOF:
		return fmt.Errorf("the stream is cut short: the file ends at byte %d in the middle of a member", f.mark.Size)
	case errors.Is(err, gzip.ErrChecksum):
		return errors.New("the checksum does not match")
	case errors.Is(err, gzip.ErrHeader):
		return errors.New("a member has no valid header: it is not gzip, or other data follows the stream")
	}
	return err
}
