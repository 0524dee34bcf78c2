package sshx

import (
	"fmt"
	"io"

	"golang.org/x/crypto/ssh"
)

// A key that the agent holds need not sign: its token is not plugged in, its
// vault is locked, whoever is to confirm it says no. As with ssh(1), the next
// key is shown then.

// witness has each key of the agent say whether it signed.
func (c *credentials) witness() {
	for i, s := range c.signers {
		switch s := s.(type) {
		case ssh.MultiAlgorithmSigner: // of a file, at hand
		case ssh.AlgorithmSigner:
			c.signers[i] = &witnessed{AlgorithmSigner: s, of: c, at: i}
		}
	}
}

// A witnessed key tells its credentials that it did not sign. They are used by
// one handshake, one step at a time.
type witnessed struct {
	ssh.AlgorithmSigner
	of *credentials
	at int // its place among the signers
}

func (w *witnessed) SignWithAlgorithm(rand io.Reader, data []byte, algorithm string) (*ssh.Signature, error) {
	w.of.signing.Store(true)
	sig, err := w.AlgorithmSigner.SignWithAlgorithm(rand, data, algorithm)
	w.of.signing.Store(false)
	if err != nil {
		w.of.unsigned = w.at + 1
		w.of.problems = append(w.of.problems, fmt.Sprintf("the server takes %s, which did not sign: %v", describe(w.PublicKey()), err))
	}
	return sig, err
}

// next is the method to go on with when a key that the server takes did not
// sign: the keys after it. Otherwise nil, and the methods keep their order.
func (c *credentials) next() ssh.AuthMethod {
	rest := c.signers[c.unsigned:]
	if c.unsigned == c.resumed || len(rest) == 0 {
		return nil
	}
	c.resumed = c.unsigned
	return ssh.PublicKeys(rest...)
}
