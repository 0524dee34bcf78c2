package lang

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"strconv"
)

// A digester takes the campaign's digest: over files as read and values of
// variables, each with its length, in the order added.
type digester struct{ h hash.Hash }

func newDigester() *digester { return &digester{h: sha256.New()} }

func (d *digester) add(kind, name string, data []byte) {
	d.h.Write([]byte(kind + "\x00" + name + "\x00" + strconv.Itoa(len(data)) + "\x00"))
	d.h.Write(data)
}

func (d *digester) sum() string { return "sha256:" + hex.EncodeToString(d.h.Sum(nil)) }
