package offer

import (
	"errors"
	"fmt"
	"net/url"
	"path"
)

// The variables of a job that hold the credentials for the copies of its checkpoints. Those of
// S3 are the ones that every client of S3 reads.
const (
	CopyKey     = "MUSTER_COPY_KEY"      // a private ssh key, without a passphrase
	CopyHostKey = "MUSTER_COPY_HOST_KEY" // the host's public key, as in known_hosts
	S3ID        = "AWS_ACCESS_KEY_ID"
	S3Secret    = "AWS_SECRET_ACCESS_KEY"
	S3Session   = "AWS_SESSION_TOKEN" // optional
	S3Region    = "AWS_REGION"        // default us-east-1
	S3Endpoint  = "AWS_ENDPOINT_URL"  // default Amazon's, of the region
)

// A CopyTo is where a machine copies checkpoints to: ssh://USER@HOST[:PORT]/FOLDER, with
// /~/FOLDER below the user's home, or s3://BUCKET[/PREFIX].
type CopyTo struct {
	SSH    bool
	User   string // on the ssh host
	Host   string // or the bucket
	Port   string // "" = 22
	Folder string // begins with a slash
}

// ParseCopyTo reads a copy_to. Its errors say what is wrong, without the text.
func ParseCopyTo(text string) (CopyTo, error) {
	u, err := url.Parse(text)
	if err != nil {
		return CopyTo{}, errors.New("it is not an address: write ssh://USER@HOST/FOLDER or s3://BUCKET/PREFIX")
	}
	t := CopyTo{SSH: u.Scheme == "ssh", Host: u.Hostname(), Port: u.Port(), Folder: path.Clean("/" + u.Path)}
	if u.User != nil {
		t.User = u.User.Username()
		if _, set := u.User.Password(); set {
			return CopyTo{}, errors.New("it has a password in it: the credentials are secret blocks of the job")
		}
	}
	switch {
	case u.Scheme != "ssh" && u.Scheme != "s3":
		return CopyTo{}, fmt.Errorf("muster copies to ssh://USER@HOST/FOLDER and s3://BUCKET/PREFIX, not to %q", u.Scheme+"://")
	case u.RawQuery != "" || u.Fragment != "":
		return CopyTo{}, errors.New("an address of copies has no ? and no #")
	case t.SSH && (t.Host == "" || t.User == "" || t.Folder == "/" || t.Folder == "/~"):
		return CopyTo{}, errors.New("an ssh host is written ssh://USER@HOST/FOLDER, or ssh://USER@HOST/~/FOLDER for a folder in USER's home")
	case !t.SSH && (t.Host == "" || t.User != "" || t.Port != ""):
		return CopyTo{}, errors.New("a bucket is written s3://BUCKET or s3://BUCKET/PREFIX")
	}
	return t, nil
}

// Needs are the variables that the job must have: first the one that must be a secret, then the
// one that may be in env as well.
func (t CopyTo) Needs() (secret, other string) {
	if t.SSH {
		return CopyKey, CopyHostKey
	}
	return S3Secret, S3ID
}
