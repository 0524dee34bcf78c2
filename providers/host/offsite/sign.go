package offsite

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// A signer signs requests to S3 by AWS Signature Version 4, with headers.
// AWS, "Authenticating Requests: Using the Authorization Header".
type signer struct {
	id, secret, session, region string
	now                         func() time.Time
}

// sign adds the headers that authorize a request.
func (s signer) sign(r *http.Request, body []byte) {
	at := s.now().UTC()
	stamp, day := at.Format("20060102T150405Z"), at.Format("20060102")
	r.Header.Set("X-Amz-Date", stamp)
	r.Header.Set("X-Amz-Content-Sha256", digest(body))
	if s.session != "" {
		r.Header.Set("X-Amz-Security-Token", s.session)
	}
	headers := map[string]string{"host": r.URL.Host}
	for name, values := range r.Header {
		headers[strings.ToLower(name)] = strings.Join(values, ",")
	}
	names := make([]string, 0, len(headers))
	for name := range headers {
		names = append(names, name)
	}
	slices.Sort(names)
	var text strings.Builder
	for _, name := range names {
		fmt.Fprintf(&text, "%s:%s\n", name, strings.TrimSpace(headers[name]))
	}
	signed := strings.Join(names, ";")
	r.URL.RawQuery = strings.ReplaceAll(r.URL.Query().Encode(), "+", "%20") // sorted, as it is signed
	request := strings.Join([]string{r.Method, r.URL.EscapedPath(), r.URL.RawQuery, text.String(), signed, digest(body)}, "\n")
	scope := day + "/" + s.region + "/s3/aws4_request"
	toSign := strings.Join([]string{"AWS4-HMAC-SHA256", stamp, scope, digest([]byte(request))}, "\n")
	key := []byte("AWS4" + s.secret)
	for _, part := range []string{day, s.region, "s3", "aws4_request"} {
		key = mac(key, part)
	}
	r.Header.Set("Authorization", fmt.Sprintf("AWS4-HMAC-SHA256 Credential=%s/%s,SignedHeaders=%s,Signature=%s", s.id, scope, signed, hex.EncodeToString(mac(key, toSign))))
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func mac(key []byte, text string) []byte {
	m := hmac.New(sha256.New, key)
	m.Write([]byte(text))
	return m.Sum(nil)
}

// escapePath escapes all but the unreserved characters and slashes, as the signature wants it.
func escapePath(text string) string {
	var out strings.Builder
	for _, c := range []byte(text) {
		if c == '/' || c == '-' || c == '_' || c == '.' || c == '~' || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' {
			out.WriteByte(c)
		} else {
			fmt.Fprintf(&out, "%%%02X", c)
		}
	}
	return out.String()
}
