package codec

import (
	"encoding/binary"
	"encoding/json"
	"math/bits"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
	"unsafe"

	"github.com/muster-run/muster/state"
)

// A scan reads the JSON that this package writes: no blanks, no null, only
// keys it knows. Whatever else it meets makes it bad, and the caller asks
// encoding/json instead, so that a scan may be strict and is never wrong.
// Strings are cut out of the text, not copied.
type scan struct {
	s   string
	i   int
	bad bool

	attempts slab[state.Attempt]
	usages   slab[state.Usage]
	exits    slab[int]
	outputs  slab[state.Output]
	copies   slab[state.Copy]
	texts    slab[string]
	named    slab[state.Text]

	minute string // the last one read, and when it began
	since  int64

	shared map[string]map[string]string // maps by their text
}

// done reports whether all of the text was read, and was as it should be.
func (p *scan) done() bool { return !p.bad && p.i == len(p.s) }

func (p *scan) fail() string { p.bad = true; return "" }

// eat takes the byte c, if it comes next.
func (p *scan) eat(c byte) bool {
	if p.i < len(p.s) && p.s[p.i] == c {
		p.i++
		return true
	}
	return false
}

// first opens an object and gives its first key, next the one after; "" ends
// it.
func (p *scan) first() string {
	if !p.eat('{') {
		return p.fail()
	}
	if p.eat('}') {
		return ""
	}
	return p.key()
}

func (p *scan) next() string {
	if p.eat(',') {
		return p.key()
	}
	if !p.eat('}') {
		p.bad = true
	}
	return ""
}

func (p *scan) key() string {
	k := p.str()
	if k == "" || !p.eat(':') {
		return p.fail()
	}
	return k
}

// open begins an array and more goes on with it; false ends it.
func (p *scan) open() bool {
	if !p.eat('[') {
		p.bad = true
		return false
	}
	return !p.eat(']')
}

func (p *scan) more() bool {
	if p.bad {
		return false
	}
	if p.eat(',') {
		return true
	}
	if !p.eat(']') {
		p.bad = true
	}
	return false
}

func (p *scan) str() string {
	if !p.eat('"') {
		return p.fail()
	}
	plain, s := true, p.s
	for i := special(s, p.i); i < len(s); i = special(s, i+1) {
		switch c := s[i]; {
		case c == '"':
			text := s[p.i:i]
			p.i = i + 1
			if !plain && !utf8.ValidString(text) {
				return p.fail()
			}
			return text
		case c == '\\':
			return p.escaped(i)
		case c < 0x20:
			return p.fail()
		}
		plain = false
	}
	return p.fail()
}

// special is the index of the next byte from i on that is a quote, a backslash, a control
// character or outside ASCII; len(s) if there is none. It looks at eight bytes at a time: the
// lowest remaining bit is exactly the first of them, for the subtraction borrows upwards only.
func special(s string, i int) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for b := unsafe.Slice(unsafe.StringData(s), len(s)); i+8 <= len(b); i += 8 {
		x := binary.LittleEndian.Uint64(b[i:])
		quote, slash := x^ones*'"', x^ones*'\\'
		hits := ((x-ones*0x20)&^x | (quote-ones)&^quote | (slash-ones)&^slash | x) & highs
		if hits != 0 {
			return i + bits.TrailingZeros64(hits)/8
		}
	}
	for ; i < len(s); i++ {
		if c := s[i]; c == '"' || c == '\\' || c < 0x20 || c >= utf8.RuneSelf {
			break
		}
	}
	return i
}

// escaped reads a string whose first backslash is at i. Addresses have quotes,
// so this is not rare.
func (p *scan) escaped(i int) (text string) {
	end := i
	simple := true
	for ; end < len(p.s) && p.s[end] != '"'; end++ {
		switch c := p.s[end]; {
		case c == '\\':
			if end++; end < len(p.s) && unescape[p.s[end]] == 0 {
				simple = false
			}
		case c < 0x20:
			return p.fail()
		}
	}
	if end >= len(p.s) {
		return p.fail()
	}
	if raw := p.s[p.i:end]; simple && utf8.ValidString(raw) {
		text = unescaped(raw, i-p.i)
	} else if json.Unmarshal([]byte(p.s[p.i-1:end+1]), &text) != nil {
		return p.fail()
	}
	p.i = end + 1
	return text
}

// unescape maps the byte after a backslash to the byte that it means; not \u.
var unescape = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unescaped resolves the simple escapes of raw, the first being at i.
func unescaped(raw string, i int) string {
	b := make([]byte, i, len(raw)-1)
	copy(b, raw)
	for ; i < len(raw); i++ {
		c := raw[i]
		if c == '\\' {
			i++
			c = unescape[raw[i]]
		}
		b = append(b, c)
	}
	return unsafe.String(unsafe.SliceData(b), len(b)) // b is not changed any more
}

// number is the text of a number.
func (p *scan) number() string {
	from := p.i
	for p.i < len(p.s) {
		switch c := p.s[p.i]; {
		case c >= '0' && c <= '9', c == '-', c == '+', c == '.', c == 'e', c == 'E':
			p.i++
			continue
		}
		break
	}
	return p.s[from:p.i]
}

// short is a natural number of few digits, which needs no care about its
// size; it leaves anything else unread.
func (p *scan) short() (n int64, ok bool) {
	i := p.i
	for ; i < len(p.s) && i-p.i <= 18; i++ {
		c := p.s[i] - '0'
		if c > 9 {
			break
		}
		n = n*10 + int64(c)
	}
	digits := i - p.i
	if digits == 0 || digits > 18 || p.s[p.i] == '0' && digits > 1 {
		return 0, false
	}
	if i < len(p.s) && (p.s[i] == '.' || p.s[i]|0x20 == 'e') {
		return 0, false
	}
	p.i = i
	return n, true
}

func (p *scan) integer() int64 {
	if n, ok := p.short(); ok {
		return n
	}
	text := p.number()
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || !canonical(text) {
		p.bad = true
	}
	return n
}

func (p *scan) natural() uint64 {
	if n, ok := p.short(); ok {
		return uint64(n)
	}
	text := p.number()
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || !canonical(text) {
		p.bad = true
	}
	return n
}

// canonical: JSON has no plus sign and no leading zeros.
func canonical(text string) bool {
	if text != "" && text[0] == '-' {
		text = text[1:]
	}
	return text != "" && text[0] != '+' && (text[0] != '0' || len(text) == 1)
}

func (p *scan) float() (f float64) {
	text := p.number()
	whole, fraction, dotted := strings.Cut(text, ".")
	if canonical(whole) && digits(strings.TrimPrefix(whole, "-")) >= 0 && (!dotted || fraction != "" && digits(fraction) >= 0) {
		f, err := strconv.ParseFloat(text, 64)
		p.bad = p.bad || err != nil
		return f
	}
	if json.Unmarshal([]byte(text), &f) != nil { // with an exponent, or no number
		p.bad = true
	}
	return f
}

func (p *scan) boolean() bool {
	switch {
	case len(p.s)-p.i >= 4 && p.s[p.i:p.i+4] == "true":
		p.i += 4
		return true
	case len(p.s)-p.i >= 5 && p.s[p.i:p.i+5] == "false":
		p.i += 5
	default:
		p.bad = true
	}
	return false
}

func (p *scan) dict() map[string]string {
	m := map[string]string{}
	for k := p.first(); k != ""; k = p.next() {
		m[k] = p.str()
	}
	return m
}

// namedTexts reads texts by name, which are written in order.
func (p *scan) namedTexts() state.Texts {
	p.named.begin()
	last := ""
	for k := p.first(); k != ""; k = p.next() {
		if k <= last {
			p.bad = true
		}
		*p.named.add(), last = state.Text{Name: k, Value: p.str()}, k
	}
	if l := p.named.end(); len(l) > 0 {
		return l
	}
	return nil
}

// sharedMaps is how many maps a scan remembers; it bounds the cost of a file
// without repetition.
const sharedMaps = 4096

// share is dict for maps that many rows have in common, such as ceilings: the
// same text gives the same map.
func (p *scan) share() map[string]string {
	n := strings.IndexByte(p.s[p.i:], '}')
	if n < 0 {
		p.bad = true
		return nil
	}
	raw := p.s[p.i : p.i+n+1]
	if m, ok := p.shared[raw]; ok { // it was read to its end before, at this very brace
		p.i += n + 1
		return m
	}
	from := p.i
	m := p.dict()
	if !p.bad && p.i == from+n+1 && len(p.shared) < sharedMaps {
		if p.shared == nil {
			p.shared = map[string]map[string]string{}
		}
		p.shared[raw] = m
	}
	return m
}

func (p *scan) list() []string {
	p.texts.begin()
	for ok := p.open(); ok; ok = p.more() {
		*p.texts.add() = p.str()
	}
	return p.texts.end()
}

// time reads a time in UTC, as RFC 3339 writes it.
func (p *scan) time() time.Time {
	s := p.str()
	// 2026-10-01T09:00:00Z, or with a fraction
	if len(s) < 20 || s[4] != '-' || s[7] != '-' || s[10] != 'T' || s[13] != ':' || s[16] != ':' || s[len(s)-1] != 'Z' {
		p.bad = true
		return time.Time{}
	}
	sec, nano := digits(s[17:19]), 0
	if len(s) > 20 {
		fraction := s[20 : len(s)-1]
		nano = digits(fraction)
		if s[19] != '.' || len(fraction) == 0 || len(fraction) > 9 {
			nano = -1
		}
		for n := len(fraction); n < 9; n++ {
			nano *= 10
		}
	}
	if s[:16] != p.minute && !p.reach(s[:16]) || sec < 0 || sec > 59 || nano < 0 {
		p.bad = true
		return time.Time{}
	}
	return time.Unix(p.since+int64(sec), int64(nano)).UTC()
}

// reach works out when the minute began that the text names; the times of a
// row, and of neighbours, are mostly of one minute.
func (p *scan) reach(text string) bool {
	year, month, day := digits(text[:4]), digits(text[5:7]), digits(text[8:10])
	hour, minute := digits(text[11:13]), digits(text[14:16])
	if year < 0 || month < 1 || month > 12 || day < 1 || day > 31 || hour < 0 || hour > 23 || minute < 0 || minute > 59 {
		return false
	}
	t := time.Date(year, time.Month(month), day, hour, minute, 0, 0, time.UTC)
	p.minute, p.since = text, t.Unix()
	if t.Day() != day { // 31 February
		p.minute = ""
		return false
	}
	return true
}

// digits is the number that s spells, or a negative one.
func digits(s string) (n int) {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return -1
		}
		if n > 1e15 { // the value does not matter any more, only that it is not negative
			continue
		}
		n = n*10 + int(s[i]-'0')
	}
	return n
}
