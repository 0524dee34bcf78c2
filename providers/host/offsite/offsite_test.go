package offsite

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/muster-run/muster/providers/host/offsite/offsitetest"
	"github.com/muster-run/muster/providers/offer"
)

// open opens a place at an address with variables.
func open(t *testing.T, address string, vars map[string]string) (Folder, error) {
	t.Helper()
	to, err := offer.ParseCopyTo(address)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Open(t.Context(), to, "muster-l/a-1", func(name string) string { return vars[name] })
	if err == nil {
		t.Cleanup(func() { p.Close() })
	}
	return p, err
}

// least is the size of a part in these tests.
const least = 1 << 16

// holds has a place keep files, whole ones alone.
func holds(t *testing.T, p Folder) {
	t.Helper()
	if names, err := p.List(t.Context()); err != nil || len(names) > 0 {
		t.Fatalf("at first there is %q, %v", names, err)
	}
	large := bytes.Repeat([]byte("0123456789abcdef"), 10*least/16)
	for name, text := range map[string][]byte{"1.tar": []byte("one"), "2.tar": large, "3.tar": nil} {
		if err := p.Write(t.Context(), name, func(w io.Writer) error { _, err := w.Write(text); return err }); err != nil {
			t.Fatal(err)
		}
		r, err := p.Read(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		if r.Close(); err != nil || !bytes.Equal(got, text) {
			t.Errorf("%s has %d bytes of %d, %v", name, len(got), len(text), err)
		}
	}
	stop := errors.New("the disk is away")
	for _, n := range []int{10, 2*least + 10} {
		if err := p.Write(t.Context(), "4.tar", func(w io.Writer) error { _, _ = w.Write(large[:n]); return stop }); !errors.Is(err, stop) {
			t.Errorf("a copy that fails: %v", err)
		}
	}
	if err := p.Remove(t.Context(), "1.tar"); err != nil {
		t.Error(err)
	}
	names, err := p.List(t.Context())
	if slices.Sort(names); err != nil || !slices.Equal(names, []string{"2.tar", "3.tar"}) {
		t.Errorf("there is %q, %v", names, err)
	}
}

func TestSSH(t *testing.T) {
	t.Parallel()
	h, dir := offsitetest.Start(t), t.TempDir()
	vars := map[string]string{offer.CopyKey: h.Key, offer.CopyHostKey: h.HostKey}
	p, err := open(t, h.Address+dir, vars)
	if err != nil {
		t.Fatal(err)
	}
	holds(t, p)
	if left, _ := filepath.Glob(filepath.Join(dir, "muster-l/a-1/*"+part)); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	other := offsitetest.Start(t)
	for want, vars := range map[string]map[string]string{
		"the job has no MUSTER_COPY_KEY":      {offer.CopyHostKey: h.HostKey},
		"the job has no MUSTER_COPY_HOST_KEY": {offer.CopyKey: h.Key},
		"is not a private key":                {offer.CopyKey: "ssh-ed25519 AAAA", offer.CopyHostKey: h.HostKey},
		"is not a line of known_hosts":        {offer.CopyKey: h.Key, offer.CopyHostKey: "SHA256:abc"},
		"unable to authenticate":              {offer.CopyKey: other.Key, offer.CopyHostKey: h.HostKey},
		"host key mismatch":                   {offer.CopyKey: h.Key, offer.CopyHostKey: other.HostKey},
	} {
		if _, err := open(t, h.Address+dir, vars); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "PRIVATE") {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestSignature: the examples of AWS's documentation of Signature Version 4 for S3.
func TestSignature(t *testing.T) {
	t.Parallel()
	s := signer{id: "AKIAIOSFODNN7EXAMPLE", secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", region: "us-east-1",
		now: func() time.Time { return time.Date(2013, 5, 24, 0, 0, 0, 0, time.UTC) }}
	for address, want := range map[string]string{
		"https://examplebucket.s3.amazonaws.com/?lifecycle":           "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
		"https://examplebucket.s3.amazonaws.com/?max-keys=2&prefix=J": "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		if s.sign(r, nil); !strings.HasSuffix(r.Header.Get("Authorization"), "Signature="+want) {
			t.Errorf("%s: %s", address, r.Header.Get("Authorization"))
		}
	}
}

// bucket is as much of S3 as muster asks for, from its API reference.
type bucket struct {
	signer
	mu      sync.Mutex
	objects map[string][]byte
	uploads map[string]map[string][]byte
}

func (b *bucket) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	fail := func(status int, code string) {
		w.WriteHeader(status)
		fmt.Fprintf(w, "<Error><Code>%s</Code><Message>no</Message></Error>", code)
	}
	again := r.Clone(r.Context())
	again.URL.Host, again.Header = r.Host, http.Header{}
	b.now = func() time.Time {
		at, _ := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
		return at
	}
	if b.sign(again, body); r.Header.Get("Authorization") != again.Header.Get("Authorization") {
		fail(http.StatusForbidden, "SignatureDoesNotMatch")
		return
	}
	key, q := strings.TrimPrefix(r.URL.Path, "/bucket/"), r.URL.Query()
	up, id := b.uploads[q.Get("uploadId")], q.Get("uploadId")
	switch {
	case r.URL.Path == "/bucket":
		type content struct{ Key string }
		var page struct {
			XMLName  xml.Name `xml:"ListBucketResult"`
			Contents []content
		}
		for k := range b.objects {
			if strings.HasPrefix(k, q.Get("prefix")) {
				page.Contents = append(page.Contents, content{k})
			}
		}
		_ = xml.NewEncoder(w).Encode(page)
	case r.Method == http.MethodPost && q.Has("uploads"):
		id := fmt.Sprint(len(b.uploads))
		b.uploads[id] = map[string][]byte{}
		fmt.Fprintf(w, "<InitiateMultipartUploadResult><UploadId>%s</UploadId></InitiateMultipartUploadResult>", id)
	case id != "" && up == nil:
		fail(http.StatusNotFound, "NoSuchUpload")
	case r.Method == http.MethodPut && id != "":
		up[q.Get("partNumber")] = body
		w.Header().Set("ETag", `"`+digest(body)+`"`)
	case r.Method == http.MethodPost:
		var all struct{ Part []uploaded }
		if err := xml.Unmarshal(body, &all); err != nil {
			fail(http.StatusBadRequest, "MalformedXML")
			return
		}
		var whole []byte
		for _, p := range all.Part {
			piece := up[fmt.Sprint(p.PartNumber)]
			if p.ETag != `"`+digest(piece)+`"` {
				fail(http.StatusOK, "InvalidPart")
				return
			}
			whole = append(whole, piece...)
		}
		b.objects[key] = whole
		delete(b.uploads, id)
		fmt.Fprint(w, "<CompleteMultipartUploadResult></CompleteMultipartUploadResult>")
	case r.Method == http.MethodDelete && id != "":
		b.uploads[id] = nil
		w.WriteHeader(http.StatusNoContent)
	case r.Method == http.MethodPut:
		b.objects[key] = body
	case r.Method == http.MethodDelete:
		delete(b.objects, key)
		w.WriteHeader(http.StatusNoContent)
	case b.objects[key] == nil:
		fail(http.StatusNotFound, "NoSuchKey")
	default:
		_, _ = w.Write(b.objects[key])
	}
}

func TestS3(t *testing.T) {
	t.Parallel()
	b := &bucket{signer: signer{id: "id", secret: "secret", region: "eu-1", now: time.Now}, objects: map[string][]byte{}, uploads: map[string]map[string][]byte{}}
	s := httptest.NewServer(b)
	t.Cleanup(s.Close)
	vars := map[string]string{offer.S3ID: "id", offer.S3Secret: "secret", offer.S3Region: "eu-1", offer.S3Endpoint: s.URL + "/"}
	p, err := open(t, "s3://bucket/a b/ü", vars)
	if err != nil {
		t.Fatal(err)
	}
	p.(*s3Place).piece = least
	holds(t, p)
	for id, parts := range b.uploads {
		if parts != nil {
			t.Errorf("upload %s is neither whole nor aborted", id)
		}
	}
	vars[offer.S3Secret] = "other"
	if p, err = open(t, "s3://bucket/c", vars); err != nil {
		t.Fatal(err)
	}
	if _, err := p.List(t.Context()); err == nil || !strings.Contains(err.Error(), "SignatureDoesNotMatch: no") {
		t.Errorf("a wrong key: %v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := p.List(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("when muster ends: %v", err)
	}
}
