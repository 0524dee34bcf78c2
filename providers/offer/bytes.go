package offer

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
)

// Stamp is the stamp of an output's files; see the function Stamp.
func (o *Output) Stamp() uint64 { return Stamp(o.Inode, o.Size, o.MTime, o.CTime) }

// Stamp folds the stat of a file into a number. As long as it stays the same,
// nobody has written the file, replaced it, or set its times: each of these
// moves the change time, which no program can set (inode(7), st_ctime). 0 where
// the change time is not known.
func Stamp(inode uint64, size, mtime, ctime int64) uint64 {
	if ctime == 0 {
		return 0
	}
	var b [32]byte
	binary.LittleEndian.PutUint64(b[:], inode)
	binary.LittleEndian.PutUint64(b[8:], uint64(size))
	binary.LittleEndian.PutUint64(b[16:], uint64(mtime))
	binary.LittleEndian.PutUint64(b[24:], uint64(ctime))
	sum := sha256.Sum256(b[:])
	return binary.LittleEndian.Uint64(sum[:])
}

// InputBytes is the digest over the bytes a job reads through one input, from
// the output digests of its producers in key order; "" when one is unknown.
func InputBytes(digests []string) string {
	if len(digests) == 1 {
		return digests[0]
	}
	d := sha256.New()
	for _, s := range digests {
		if s == "" {
			return ""
		}
		d.Write(append([]byte(s), 0))
	}
	return "sha256:" + hex.EncodeToString(d.Sum(nil))
}
