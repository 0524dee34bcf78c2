package units

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"
)

// maxIntegerBits bounds whole numbers; cty computes with 512 bits, so a longer
// integer has lost digits already.
const maxIntegerBits = 512

// Number is the shortest text that reads back as the same float64: whole
// numbers have all their digits, numbers below 1e-6 have an exponent
// ("2.5e-7"), all others none. It is how JavaScript prints numbers, but for
// whole numbers from 1e21 on, which keep their digits.
func Number(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 0):
		return strconv.FormatFloat(f, 'g', -1, 64)
	case f == 0:
		return "0" // also for -0
	case math.Abs(f) >= 1e-6:
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	s := strconv.FormatFloat(f, 'e', -1, 64) // 2.5e-07
	mant, exp, _ := strings.Cut(s, "e-")
	return mant + "e-" + strings.TrimLeft(exp, "0")
}

// NumberText is the language's rule for numbers: an integer is its digits,
// any other number the shortest text of its float64; canonical is the value
// of that text. It fails for infinities, for integers of more than 512 bits
// and for numbers too near zero for a float64.
func NumberText(v cty.Value) (text string, canonical cty.Value, err error) {
	bf := v.AsBigFloat()
	if bf.IsInf() {
		return "", cty.NilVal, errors.New("the number is infinite: something is divided by zero, or grows beyond all bounds")
	}
	if bf.IsInt() {
		return integerText(v, bf)
	}
	f, _ := bf.Float64()
	if f == 0 || math.IsInf(f, 0) {
		return "", cty.NilVal, fmt.Errorf("the number %s does not fit a float64 (about 5e-324 to 1.8e308)", about(bf))
	}
	text = Number(f)
	canonical, err = cty.ParseNumberVal(text)
	return text, canonical, err
}

func integerText(v cty.Value, bf *big.Float) (string, cty.Value, error) {
	if bf.Sign() == 0 {
		return "0", cty.Zero, nil
	}
	if i64, acc := bf.Int64(); acc == big.Exact {
		return strconv.FormatInt(i64, 10), v, nil
	}
	if bf.MantExp(nil) > maxIntegerBits {
		return "", cty.NilVal, fmt.Errorf("the number %s is too large: integers have at most 154 digits", about(bf))
	}
	n, _ := bf.Int(nil)
	return n.String(), v, nil
}

// about is a number for a message. The digits of one with a huge exponent
// would take time and memory with its size.
func about(bf *big.Float) string {
	const most = 1 << 14 // powers of two
	exp := bf.MantExp(nil)
	if exp < most && exp > -most {
		return bf.Text('g', 6)
	}
	return fmt.Sprintf("1e%+d or so", int(float64(exp)*math.Log10(2)))
}
