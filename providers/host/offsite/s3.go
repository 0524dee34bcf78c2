package offsite

import (
	"bytes"
	"cmp"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/muster-run/muster/providers/offer"
)

// s3Place is a prefix in an S3 bucket, addressed by path, which Amazon and the others all take.
type s3Place struct {
	base   string // of the bucket
	prefix string // without slashes at its ends
	sign   signer
	client *http.Client
	piece  int // bytes of each part of a large object
}

// partSize is the size, in bytes, of the pieces of a large object. S3 takes 10,000 of them, each
// of at least 5 MiB: objects of up to 640 GB.
const partSize = 64 << 20

func openS3(t offer.CopyTo, folder string, get func(string) string) Folder {
	region := cmp.Or(get(offer.S3Region), "us-east-1")
	base := strings.TrimSuffix(cmp.Or(get(offer.S3Endpoint), "https://s3."+region+".amazonaws.com"), "/")
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		link, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(ctx, network, address)
		return patient{link}, err
	}
	return &s3Place{base: base + "/" + t.Host, prefix: folder, client: &http.Client{Transport: transport}, piece: partSize,
		sign: signer{id: get(offer.S3ID), secret: get(offer.S3Secret), session: get(offer.S3Session), region: region, now: time.Now}}
}

// ask sends a request about an object, or about the bucket where name is "". The answer's body
// is the caller's to close.
func (p *s3Place) ask(ctx context.Context, method, name string, query url.Values, body []byte) (*http.Response, error) {
	address := p.base
	if name != "" {
		address += "/" + escapePath(path.Join(p.prefix, name))
	}
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	r, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	p.sign.sign(r, body)
	answer, err := p.client.Do(r)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode/100 == 2 {
		return answer, nil
	}
	defer answer.Body.Close()
	var said struct{ Code, Message string }
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<16))
	if xml.Unmarshal(text, &said) != nil || said.Code == "" {
		return nil, fmt.Errorf("%s answers %s", r.URL.Host, answer.Status)
	}
	return nil, fmt.Errorf("%s answers %s: %s", r.URL.Host, said.Code, said.Message)
}

// do is ask for an answer that is read whole, into an XML value where one is given.
func (p *s3Place) do(ctx context.Context, method, name string, query url.Values, body []byte, into any) (http.Header, error) {
	answer, err := p.ask(ctx, method, name, query, body)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, 16<<20))
	if err = errors.Join(err, answer.Body.Close()); err == nil && into != nil {
		err = xml.Unmarshal(text, into)
	}
	return answer.Header, err
}

func (p *s3Place) List(ctx context.Context) (names []string, err error) {
	query := url.Values{"list-type": {"2"}, "prefix": {p.prefix + "/"}, "delimiter": {"/"}}
	for {
		var page struct {
			Contents              []struct{ Key string }
			IsTruncated           bool
			NextContinuationToken string
		}
		if _, err := p.do(ctx, http.MethodGet, "", query, nil, &page); err != nil {
			return nil, err
		}
		for _, c := range page.Contents {
			names = append(names, strings.TrimPrefix(c.Key, p.prefix+"/"))
		}
		if !page.IsTruncated || page.NextContinuationToken == "" {
			return names, nil
		}
		query.Set("continuation-token", page.NextContinuationToken)
	}
}

func (p *s3Place) Write(ctx context.Context, name string, fill func(io.Writer) error) error {
	u := &upload{ctx: ctx, place: p, name: name}
	err := fill(u)
	if err == nil {
		err = u.finish()
	}
	if err != nil && u.id != "" {
		last, stop := context.WithTimeout(context.WithoutCancel(ctx), dialTimeout)
		defer stop()
		_, _ = p.do(last, http.MethodDelete, name, url.Values{"uploadId": {u.id}}, nil, nil)
	}
	return err
}

func (p *s3Place) Read(ctx context.Context, name string) (io.ReadCloser, error) {
	answer, err := p.ask(ctx, http.MethodGet, name, nil, nil)
	if err != nil {
		return nil, err
	}
	return answer.Body, nil
}

func (p *s3Place) Remove(ctx context.Context, name string) error {
	_, err := p.do(ctx, http.MethodDelete, name, nil, nil, nil)
	return err
}

func (p *s3Place) Close() error {
	p.client.CloseIdleConnections()
	return nil
}

// An upload is an object that is being written: in one piece where it is small, else in several,
// which S3 joins at the end.
type upload struct {
	ctx   context.Context
	place *s3Place
	name  string
	id    string // of the upload in several pieces; "" = none yet
	buf   bytes.Buffer
	parts []uploaded
}

type uploaded struct {
	PartNumber int
	ETag       string
}

func (u *upload) Write(b []byte) (n int, err error) {
	for n < len(b) {
		some := b[n:min(len(b), n+u.place.piece-u.buf.Len())]
		n += len(some)
		u.buf.Write(some)
		if u.buf.Len() == u.place.piece {
			if err := u.send(); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// send uploads a piece.
func (u *upload) send() error {
	if u.id == "" {
		var begun struct {
			UploadID string `xml:"UploadId"`
		}
		if _, err := u.place.do(u.ctx, http.MethodPost, u.name, url.Values{"uploads": {""}}, nil, &begun); err != nil {
			return err
		}
		u.id = begun.UploadID
	}
	n := len(u.parts) + 1
	query := url.Values{"partNumber": {fmt.Sprint(n)}, "uploadId": {u.id}}
	h, err := u.place.do(u.ctx, http.MethodPut, u.name, query, u.buf.Bytes(), nil)
	u.parts = append(u.parts, uploaded{n, h.Get("ETag")})
	u.buf.Reset()
	return err
}

func (u *upload) finish() error {
	if u.id == "" {
		_, err := u.place.do(u.ctx, http.MethodPut, u.name, nil, u.buf.Bytes(), nil)
		return err
	}
	if u.buf.Len() > 0 {
		if err := u.send(); err != nil {
			return err
		}
	}
	body, err := xml.Marshal(struct {
		XMLName xml.Name   `xml:"CompleteMultipartUpload"`
		Part    []uploaded `xml:"Part"`
	}{Part: u.parts})
	if err != nil {
		return err
	}
	// A failure may come with status 200, as a document of its own.
	var joined struct {
		XMLName       xml.Name
		Code, Message string
	}
	if _, err := u.place.do(u.ctx, http.MethodPost, u.name, url.Values{"uploadId": {u.id}}, body, &joined); err != nil {
		return err
	}
	if joined.XMLName.Local == "Error" {
		return fmt.Errorf("%s: %s", joined.Code, joined.Message)
	}
	return nil
}
