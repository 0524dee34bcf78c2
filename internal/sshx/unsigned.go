package sshx

import (
	"fmt"
	"io"

	"golang.org/x/crypto/ssh"
)

// A key that the agent holds need not sign: its token is not plugged in, its vault is locked,
// or the person who confirms refuses. As ssh(1) does, muster then shows the next key.

// witness has each key of the agent say whether it signed.
func (c *credentials) witness() {
	for i, s := range c.signers {
		switch s := s.(type) {
		case ssh.MultiAlgorithmSigner: // of a file, at hand
		case ssh.AlgorithmSigner:
			c.signers[i] = &watchedKey{AlgorithmSigner: s, of: c, at: i}
		}
	}
}

// A watchedKey reports to its credentials that it did not sign. One handshake uses them,
// one step at a time.
type watchedKey struct {
	ssh.AlgorithmSigner
	of *credentials
	at int // its place among the signers
}

func (w *watchedKey) SignWithAlgorithm(rand io.Reader, data []byte, algorithm string) (*ssh.Signature, error) {
	w.of.signing.Store(true)
	sig, err := w.AlgorithmSigner.SignWithAlgorithm(rand, data, algorithm)
	w.of.signing.Store(false)
	if err != nil {
		w.of.unsigned = w.at + 1
		w.of.problems = append(w.of.problems, fmt.Sprintf("the server takes %s, which did not sign: %v", describe(w.PublicKey()), err))
	}
	return sig, err
}

// next is the method to continue with when an accepted key did not sign: the keys after it.
// Otherwise nil, and the methods keep their order.
func (c *credentials) next() ssh.AuthMethod {
	rest := c.signers[c.unsigned:]
	if c.unsigned == c.resumed || len(rest) == 0 {
		return nil
	}
	c.resumed = c.unsigned
	return ssh.PublicKeys(rest...)
}
