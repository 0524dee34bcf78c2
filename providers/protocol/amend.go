package protocol

import (
	"encoding/hex"
	"reflect"
	"strings"

	"github.com/muster-run/muster/providers"
	"github.com/muster-run/muster/providers/offer"
	"github.com/muster-run/muster/providers/protocol/pb"
)

// An amendment changes the copy of a mirror, where a message says a thing
// otherwise than its struct.
type amendment struct{ out, in func(dst, src any) }

// amendments are by the type of the struct.
var amendments = map[reflect.Type]amendment{
	reflect.TypeFor[providers.Recorded](): amend(packDigest, unpackDigest),
	reflect.TypeFor[providers.Error]():    amend(shorten, saneError),
	reflect.TypeFor[providers.Job]():      amend(nil, func(j *providers.Job, _ *pb.Job) { maskUmask(j) }),
	reflect.TypeFor[offer.Usage]():        amend(unknownMemory, saneUsage),
	reflect.TypeFor[offer.Price]():        amend(nil, sanePrice),
	reflect.TypeFor[offer.Pool]():         amend(nil, sanePool),
	reflect.TypeFor[offer.Quote]():        amend(nil, saneQuote),
	reflect.TypeFor[offer.Observation]():  amend(nil, saneObservation),
	reflect.TypeFor[offer.Output]():       amend(nil, saneOutput),
	reflect.TypeFor[providers.Finding]():  amend(nil, saneFinding),
	reflect.TypeFor[providers.Note]():     amend(nil, saneNote),
	reflect.TypeFor[providers.FileInfo](): amend(nil, saneFile),
}

func amend[G, M any](out func(*M, *G), in func(*G, *M)) (a amendment) {
	if out != nil {
		a.out = func(dst, src any) { out(dst.(*M), src.(*G)) }
	}
	if in != nil {
		a.in = func(dst, src any) { in(dst.(*G), src.(*M)) }
	}
	return a
}

const sha256Prefix = "sha256:"

// packDigest sends a digest as bytes: an input may be a list of 100,000 files,
// and has to fit into one message.
func packDigest(m *pb.Recorded, r *providers.Recorded) {
	digits, ok := strings.CutPrefix(r.Digest, sha256Prefix)
	if sum, err := hex.DecodeString(digits); ok && err == nil && hex.EncodeToString(sum) == digits {
		m.Sha256, m.Digest = sum, ""
	}
}

func unpackDigest(r *providers.Recorded, m *pb.Recorded) {
	if sum := m.GetSha256(); len(sum) > 0 {
		r.Digest = sha256Prefix + hex.EncodeToString(sum)
	}
}

func shorten(m *pb.Error, _ *providers.Error) {
	m.Summary, m.Detail, m.Hint, m.Login = short(m.Summary), short(m.Detail), short(m.Hint), short(m.Login)
}

func maskUmask(j *providers.Job) {
	if j.Umask != nil {
		*j.Umask &= 0o777
	}
}

// unknownMemory says so: to a muster that reads a plain number, a field that is
// absent is 0.
func unknownMemory(m *pb.Usage, _ *offer.Usage) {
	if m.GpuMaxMem == nil {
		unknown := int64(-1)
		m.GpuMaxMem = &unknown
	}
}

// submissionOut puts the secrets beside the job, never into it.
func submissionOut(j providers.Job) *pb.Submission {
	return &pb.Submission{Job: request[pb.Job](j), Secrets: each(j.Secrets, request[pb.EnvVar])}
}

func submissionIn(s *pb.Submission) providers.Job {
	j := value[providers.Job](s.GetJob())
	j.Secrets = each(s.GetSecrets(), value[providers.EnvVar])
	return j
}
